"""`python -m groundrail.cli`."""

import sys

from groundrail.cli.main import main

sys.exit(main())
