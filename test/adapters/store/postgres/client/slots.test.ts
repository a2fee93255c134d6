import t from 'tap'
import { createSlots } from '../../../../../adapters/store/postgres/client/slots.ts'

t.test('grants slots in FIFO order and reuses released ones', async (t) => {
  const { acquire, release } = createSlots(2, 10, 1000)
  const order: number[] = []
  for (let i = 0; i < 5; i++) void acquire().then(() => order.push(i))
  await round()
  t.same(order, [0, 1])
  release()
  release()
  await round()
  t.same(order, [0, 1, 2, 3])
  for (let i = 0; i < 3; i++) release()
  await Promise.all([acquire(), acquire()])
  t.same(order, [0, 1, 2, 3, 4])
})

t.test('rejects beyond the queue limit', async (t) => {
  const { acquire, release } = createSlots(1, 2, 1000)
  await acquire()
  const pending = [acquire(), acquire()]
  await t.rejects(acquire(), { message: '2 calls are already waiting for a connection' })
  release()
  release()
  await Promise.all(pending)
})

t.test('rejects on timeout and grants no slot afterwards', async (t) => {
  const { acquire, release } = createSlots(1, 2, 20)
  await acquire()
  await t.rejects(acquire(), { message: 'no connection became free within 20 ms' })
  release()
  await acquire()
  await t.rejects(acquire(), { message: /became free/ })
})

function round(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
