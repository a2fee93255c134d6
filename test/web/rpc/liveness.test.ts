import t, { type Test } from 'tap'
import { Silence } from '../../../web/rpc/liveness.ts'

/** A connection with a many calls in flight, and its became of it. */
function open(_: Test, inFlight: number): { silence: Silence; told: string[] } {
  const told: string[] = []
  const silence = new Silence({
    inFlight: () => inFlight,
    probe: () => told.push('asked'),
    onDead: () => told.push('dead'),
  })
  return { silence, told }
}

t.test('a silent connection is probed once, and dead without a response', async (t) => {
  const { silence, told } = open(t, 1)
  silence.tick()
  t.strictSame(told, [], 'opening counts as received data')
  silence.tick()
  silence.tick()
  t.strictSame(told, ['asked'])
  silence.tick()
  t.strictSame(told, ['asked', 'dead'])
})

t.test('a connection that responds to probes stays alive with silent streams', async (t) => {
  const { silence, told } = open(t, 1)
  for (let i = 0; i < 10; i++) {
    silence.tick()
    if (told.length > i / 2) silence.onMessage()
  }
  t.ok(told.length > 1)
  t.notOk(told.includes('dead'))
})

t.test('without calls, a connection is probed only on check()', async (t) => {
  const { silence, told } = open(t, 0)
  for (let i = 0; i < 5; i++) silence.tick()
  t.strictSame(told, [])
  silence.check()
  silence.check()
  t.strictSame(told, ['asked'], 'check() probes')
  silence.tick()
  silence.tick()
  t.strictSame(told, ['asked', 'dead'])
})

t.test('data received since the last tick makes a probe unnecessary', async (t) => {
  const { silence, told } = open(t, 1)
  silence.tick()
  silence.onMessage()
  silence.check()
  t.strictSame(told, [])
})
