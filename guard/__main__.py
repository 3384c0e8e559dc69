"""`python -m groundrail`."""

import sys

from groundrail.cli.main import main

sys.exit(main())
