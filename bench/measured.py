"""Run a program; measure its processor time and its peak of memory."""
import json
import subprocess
import sys

# The peak memory that the kernel reports for a program includes the memory of the process that started it.
# Therefore a small Python process starts the program.
SMALL = """
import json, resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def measured(command, folder):
    """Run the command in the folder; return its exit code, processor seconds and peak of memory in MiB. Its output goes to
    standard error."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", SMALL, *command], cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])
