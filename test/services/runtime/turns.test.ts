import t from 'tap'
import { createTurns } from '../../../services/runtime/turns.ts'

const NEVER = new AbortController().signal

t.test('so many at a time, in the order they came', async (t) => {
  const turns = createTurns(1)
  const order: string[] = []
  const first = await turns.take(NEVER)
  const others = ['second', 'third'].map(async (name) => {
    const leave = await turns.take(NEVER)
    order.push(name)
    leave()
  })
  t.same(order, [])
  first()
  first()
  await Promise.all(others)
  t.same(order, ['second', 'third'])
})

t.test('who gives up while it waits keeps nobody from a turn', async (t) => {
  const turns = createTurns(1)
  const first = await turns.take(NEVER)
  const giving = new AbortController()
  const given = turns.take(giving.signal)
  const next = turns.take(NEVER)
  first()
  giving.abort(new Error('enough'))
  await t.rejects(given, { message: 'enough' })
  const leave = await next
  leave()
  await t.rejects(turns.take(giving.signal), { message: 'enough' })
})
