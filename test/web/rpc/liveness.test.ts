import t, { type Test } from 'tap'
import { Silence } from '../../../web/rpc/liveness.ts'

/** A connection with as many calls under way, and what became of it. */
function open(_: Test, inFlight: number): { silence: Silence; told: string[] } {
  const told: string[] = []
  const silence = new Silence({
    inFlight: () => inFlight,
    probe: () => told.push('asked'),
    onDead: () => told.push('dead'),
  })
  return { silence, told }
}

t.test('a silent connection is asked once, and given up when nothing comes', async (t) => {
  const { silence, told } = open(t, 1)
  silence.tick()
  t.strictSame(told, [], 'it was heard of when it was opened')
  silence.tick()
  silence.tick()
  t.strictSame(told, ['asked'])
  silence.tick()
  t.strictSame(told, ['asked', 'dead'])
})

t.test('one that answers lasts, however quiet its streams are', async (t) => {
  const { silence, told } = open(t, 1)
  for (let i = 0; i < 10; i++) {
    silence.tick()
    if (told.length > i / 2) silence.onMessage()
  }
  t.ok(told.length > 1)
  t.notOk(told.includes('dead'))
})

t.test('without calls nothing is to come', async (t) => {
  const { silence, told } = open(t, 0)
  for (let i = 0; i < 5; i++) silence.tick()
  t.strictSame(told, [])
  silence.check()
  silence.check()
  t.strictSame(told, ['asked'], 'unless somebody wants to know')
  silence.tick()
  silence.tick()
  t.strictSame(told, ['asked', 'dead'])
})

t.test('what came since the last tick is sign enough', async (t) => {
  const { silence, told } = open(t, 1)
  silence.tick()
  silence.onMessage()
  silence.check()
  t.strictSame(told, [])
})
