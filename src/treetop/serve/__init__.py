"""The HTTP server: see `settings` for its options, `app` for the routes, `server` for the process."""
