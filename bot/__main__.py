"""`python -m bot` is `threadsmith`."""

from bot.cli.main import main

if __name__ == "__main__":
    main()
