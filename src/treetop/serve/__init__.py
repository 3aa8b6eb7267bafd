"""The server: models behind HTTP. see `settings`, `app`, `server`."""
