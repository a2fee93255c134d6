import t, { type Test } from 'tap'
import { Silence } from '../../../web/rpc/liveness.ts'

/** A connection with calls in flight, and its events. */
function open(_: Test, inFlight: number): { silence: Silence; events: string[] } {
  const events: string[] = []
  const silence = new Silence({
    inFlight: () => inFlight,
    probe: () => events.push('probe'),
    onDead: () => events.push('dead'),
  })
  return { silence, events }
}

t.test('a silent connection is probed once, and considered dead without a response', async (t) => {
  const { silence, events } = open(t, 1)
  silence.tick()
  t.strictSame(events, [], 'opening counts as received data')
  silence.tick()
  silence.tick()
  t.strictSame(events, ['probe'])
  silence.tick()
  t.strictSame(events, ['probe', 'dead'])
})

t.test('a connection that responds to probes stays alive with silent streams', async (t) => {
  const { silence, events } = open(t, 1)
  for (let i = 0; i < 10; i++) {
    silence.tick()
    if (events.length > i / 2) silence.onMessage()
  }
  t.ok(events.length > 1)
  t.notOk(events.includes('dead'))
})

t.test('without calls, a connection is probed only on check()', async (t) => {
  const { silence, events } = open(t, 0)
  for (let i = 0; i < 5; i++) silence.tick()
  t.strictSame(events, [])
  silence.check()
  silence.check()
  t.strictSame(events, ['probe'], 'check() probes')
  silence.tick()
  silence.tick()
  t.strictSame(events, ['probe', 'dead'])
})

t.test('data received since the last tick makes a probe unnecessary', async (t) => {
  const { silence, events } = open(t, 1)
  silence.tick()
  silence.onMessage()
  silence.check()
  t.strictSame(events, [])
})
