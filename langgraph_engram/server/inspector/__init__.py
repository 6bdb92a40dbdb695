"""Pages at `/memory` to look at a memory, ask it, correct it, and forget: server-rendered, without a script."""
