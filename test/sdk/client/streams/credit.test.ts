import t from 'tap'
import { WINDOW_BYTES } from '../../../../core/rpc/ws/frames.ts'
import { Credit, VALUE_COST } from '../../../../sdk/client/streams/credit.ts'
import { tick } from '../../../fixtures/raw-backend.ts'

t.test('the window is 64 values, then the number of consumed values', async (t) => {
  let grants = 0
  const credit = new Credit(() => grants++)
  for (let i = 0; i < 64; i++) t.ok(credit.take(VALUE_COST))
  t.notOk(credit.take(VALUE_COST))
  for (let i = 0; i < 31; i++) credit.consumed(VALUE_COST)
  await tick()
  t.equal(grants, 0, 'credit is granted in halves of the window')
  credit.consumed(VALUE_COST)
  t.equal(grants, 0, 'in a later tick')
  await tick()
  t.equal(grants, 1)
  for (let i = 0; i < 32; i++) t.ok(credit.take(VALUE_COST))
  t.notOk(credit.take(VALUE_COST))
  t.equal(grants, 1)
})

t.test('values consumed before the window was full are counted', async (t) => {
  let grants = 0
  const credit = new Credit(() => grants++)
  for (let i = 0; i < 64; i++) {
    credit.take(VALUE_COST)
    credit.consumed(VALUE_COST)
  }
  await tick()
  t.equal(grants, 0, 'no sender is waiting')
  t.notOk(credit.take(VALUE_COST))
  t.notOk(credit.take(VALUE_COST))
  await tick()
  t.equal(grants, 1)
  t.ok(credit.take(VALUE_COST))
})

t.test('one body may exceed the window, and must be consumed before the next', async (t) => {
  let grants = 0
  const credit = new Credit(() => grants++)
  t.ok(credit.take(10 * WINDOW_BYTES))
  t.notOk(credit.take(1))
  credit.consumed(9 * WINDOW_BYTES)
  await tick()
  t.equal(grants, 1)
  t.notOk(credit.take(1), 'the excess must be consumed first')
  credit.consumed(WINDOW_BYTES)
  await tick()
  t.equal(grants, 2)
  t.ok(credit.take(1))
})

t.test('granted credit never exceeds the sent amount', async (t) => {
  const credit = new Credit(() => {})
  t.ok(credit.take(WINDOW_BYTES))
  t.notOk(credit.take(1))
  credit.consumed(5 * WINDOW_BYTES)
  await tick()
  t.ok(credit.take(WINDOW_BYTES))
  t.notOk(credit.take(1))
})
