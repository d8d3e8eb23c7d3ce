"""A kitchen: orders go through a channel, the day ends early, and nobody leaves without cleaning up."""
import asx


def take_orders(tx):
    for number in range(1, 100):
        permit = yield tx.reserve()  # Waits for a place, so that no order is made that has none.
        permit.send(f"order {number}")


def cook(rt, rx):
    try:
        while True:
            order = yield rx.recv()
            yield asx.sleep(10 * asx.SECOND)
            print(f"{rt.now // asx.SECOND:3} s  {order} is served")
    except asx.Cancelled as cancelled:
        print(f"{rt.now // asx.SECOND:3} s  the cook hears: {cancelled.reason.root.message}")
        raise
    finally:
        yield asx.sleep(5 * asx.SECOND)  # Cleanup may wait.
        print(f"{rt.now // asx.SECOND:3} s  the stove is clean")


def close_at(day, ns):
    yield asx.sleep(ns)
    day.close(message="closing time")


with asx.Runtime() as rt:
    day = rt.region("day")
    tx, rx = day.channel(2, destroy=lambda order: print(f"       {order} was never served"))
    day.spawn(take_orders(tx))
    day.spawn(cook(rt, rx))
    rt.spawn(close_at(day, 25 * asx.SECOND))
    rt.run()
    print("the day was", day.outcome.kind.name.lower())
