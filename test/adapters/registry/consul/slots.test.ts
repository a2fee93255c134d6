import t from 'tap'
import { createSlots } from '../../../../adapters/registry/consul/slots.ts'

t.test('places are given until there are none, which is told once', async (t) => {
  let told = 0
  const slots = createSlots(2, 10, () => told++)
  t.same([slots.take(), slots.take(), slots.take(), slots.take()], [true, true, false, false])
  t.equal(told, 1)
  slots.release()
  t.same([slots.take(), slots.take()], [true, false])
})

t.test('the more ask in turn, the less often each: fifty a second of all', async (t) => {
  const slots = createSlots(0, 5000, () => {})
  t.equal(slots.pollMs(), 5000)
  for (let i = 0; i < 500; i++) slots.countPolling(1)
  t.equal(slots.pollMs(), 10_000)
  slots.countPolling(-1)
  t.equal(slots.pollMs(), 9980)
})
