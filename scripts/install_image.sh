#!/bin/sh
# The steps that fill the container image. The Dockerfile runs each in a layer of its own; tests/packaging/test_image.py runs
# the same ones in a plain folder, since no container engine is needed to see whether they work.
#
#   install_image.sh requirements FOLDER   an environment with the packages Toolcrib needs, and uv
#   install_image.sh toolcrib FOLDER       Toolcrib itself, from the project in the working directory
#   install_image.sh node FOLDER           the commands npm and npx of the Node.js below FOLDER
set -eu

step=$1
folder=$2

case $step in
requirements)
    python3 -m venv "$folder"
    "$folder/bin/pip" install --no-cache-dir --disable-pip-version-check -q -r requirements/runtime.txt -r requirements/image.txt
    ;;
toolcrib)
    "$folder/bin/pip" install --no-cache-dir --disable-pip-version-check -q --no-deps .
    ;;
node)
    # Copying a link between stages copies what it leads to, and npm's programs look for their parts beside themselves.
    for name in npm npx; do
        ln -sf "../lib/node_modules/npm/bin/$name-cli.js" "$folder/bin/$name"
    done
    ;;
*)
    echo "install_image.sh: there is no step '$step'" >&2
    exit 1
    ;;
esac
