#!/bin/sh
# Starts the Chromium that YIELDING_BROWSER names as low in priority as its session: Playwright gives each browser a session of its
# own, and Linux divides the CPU between sessions first (autogroup), so that the niceness of a process counts within its own only.
{ nice > /proc/self/autogroup; } 2> /dev/null
exec "$YIELDING_BROWSER" "$@"
