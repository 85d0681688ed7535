"""Workers on a Ray cluster.

Ray ends its driver process when the head or the local raylet is lost, so the process that writes results is none: a
child process, the bridge, is the driver, and the writer starts a new one when it has to.

    writer --pipes-- warden --starts-- bridge (Ray driver) --actor calls-- worker actors on any node

``link`` is the writer's end; ``bridge`` the driver, and ``hired`` one worker as the driver sees it; ``actor`` what runs
on the nodes; ``frames`` what goes through the pipes; ``sequence`` the counting that makes messages arrive once and in
order; ``warden`` ends everything with the writer; ``cluster`` knows Ray's settings, its node table and its error texts.
"""
