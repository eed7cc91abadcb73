"""The process that has torch loaded. Nothing outside this package imports it: `sandbox` starts it.

serve      reads requests, forks a child for each, waits, and answers
child      executes one repro behind the walls and writes down what happened
walls      limits, namespaces, and the audit hook; each is tried, and said if it stands
kernel     the filters of the Linux kernel: system calls, files
blame      whether an error is torch's own or was made by the repro
"""
