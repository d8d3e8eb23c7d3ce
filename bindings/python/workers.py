"""Three workers and one queue of jobs: a channel has one receiver, so a dispatcher hands the jobs out."""
import asx


def work(rt, name, idle):
    tx, rx = rt.channel(1)
    with idle, rx:
        try:
            while True:
                yield idle.send(tx)
                seconds = yield rx.recv()
                yield asx.sleep(seconds * asx.SECOND)
                print(f"{rt.now // asx.SECOND:3} s  {name} is done with a job of {seconds} s")
        except asx.Disconnected:
            print(f"{rt.now // asx.SECOND:3} s  {name} goes home")


def dispatch(jobs, idle):
    try:
        while True:
            job = yield jobs.recv()
            worker = yield idle.recv()  # Who has waited longest.
            worker.try_send(job)
    except asx.Disconnected:  # The last job is handed out.
        pass
    try:
        while True:
            (yield idle.recv()).drop()  # Tells that worker that nothing more comes.
    except asx.Disconnected:  # The last worker has gone.
        pass


with asx.Runtime() as rt:
    tx, jobs = rt.channel(10)
    ready, idle = rt.channel(3)
    for name in ("Ada", "Bob", "Cleo"):
        rt.spawn(work(rt, name, ready.clone()))
    ready.drop()  # The workers have theirs.
    rt.spawn(dispatch(jobs, idle))
    with tx:
        for seconds in (5, 1, 1, 2, 3):
            tx.try_send(seconds)
    rt.run()
    print("still waiting:", rt.unfinished)
