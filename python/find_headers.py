"""Prints, as JSON, what an extension for this Python is compiled with; fails with a sentence where it can't be."""

import json
import os
import sys
import sysconfig

if sys.version_info < (3, 10):
    sys.exit("it is Python %d.%d, and shunt needs 3.10 or newer." % sys.version_info[:2])
if "t" in sys.abiflags:
    sys.exit("it is a free-threaded build, for which shunt isn't written yet: its objects rely on the interpreter's "
             "lock. Use the usual build of this version.")
include = sysconfig.get_path("include")
if not os.path.exists(os.path.join(include, "Python.h")):
    sys.exit("%s has no Python.h. On Debian: apt-get install python3-dev" % include)
json.dump({"include": include, "suffix": sysconfig.get_config_var("EXT_SUFFIX")}, sys.stdout)
