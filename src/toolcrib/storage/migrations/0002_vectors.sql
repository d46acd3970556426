-- What texts mean, worked out once: a cache, found by the encoder that made it and a hash of the text.
CREATE TABLE vectors (
    encoder TEXT NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (encoder, text_hash)
) WITHOUT ROWID;
