"""What a command may see and touch: its environment, and the walls around it.

policy.py says what shall hold, as data; plan.py turns it into numbers, with landlock.py (what is allowed where),
bpf.py (which system calls are refused), mounts.py (what is pinned and covered) and rlimits.py; launcher.py does it, in
a process that then becomes the command; program.py is how that process is started and heard. launch.py is the door for
those who run commands, probe.py tells what this machine can do, cgroup.py bounds what a session takes, env.py says
what it inherits.
"""
