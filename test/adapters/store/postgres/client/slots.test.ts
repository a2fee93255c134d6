import t from 'tap'
import { createSlots } from '../../../../../adapters/store/postgres/client/slots.ts'

t.test('places are given in the order of asking, and again when they are free', async (t) => {
  const { take, release } = createSlots(2, 10, 1000)
  const order: number[] = []
  for (let i = 0; i < 5; i++) void take().then(() => order.push(i))
  await turn()
  t.same(order, [0, 1])
  release()
  release()
  await turn()
  t.same(order, [0, 1, 2, 3])
  for (let i = 0; i < 3; i++) release()
  await Promise.all([take(), take()])
  t.same(order, [0, 1, 2, 3, 4])
})

t.test('too many do not wait', async (t) => {
  const { take, release } = createSlots(1, 2, 1000)
  await take()
  const waiting = [take(), take()]
  await t.rejects(take(), { message: '2 others wait for a connection' })
  release()
  release()
  await Promise.all(waiting)
})

t.test('nobody waits longer than allowed, or is given a place afterwards', async (t) => {
  const { take, release } = createSlots(1, 2, 20)
  await take()
  await t.rejects(take(), { message: 'no connection became free within 20 ms' })
  release()
  await take()
  await t.rejects(take(), { message: /became free/ })
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
