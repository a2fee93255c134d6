import t from 'tap'
import { Credit } from '../../sdk/credit.ts'
import { turn } from '../fixtures/raw-backend.ts'

t.test('64 bodies, then only as many as were consumed', async (t) => {
  let grants = 0
  const credit = new Credit(() => grants++)
  for (let i = 0; i < 64; i++) t.ok(credit.take())
  t.notOk(credit.take())
  for (let i = 0; i < 31; i++) credit.consumed()
  await turn()
  t.equal(grants, 0, 'in halves of the window, not one by one')
  credit.consumed()
  t.equal(grants, 0, 'in a later turn')
  await turn()
  t.equal(grants, 1)
  for (let i = 0; i < 32; i++) t.ok(credit.take())
  t.notOk(credit.take())
  t.equal(grants, 1)
})

t.test('what was consumed before it was asked for counts', async (t) => {
  let grants = 0
  const credit = new Credit(() => grants++)
  for (let i = 0; i < 64; i++) {
    credit.take()
    credit.consumed()
  }
  await turn()
  t.equal(grants, 0, 'nobody waits')
  t.notOk(credit.take())
  t.notOk(credit.take())
  await turn()
  t.equal(grants, 1)
  t.ok(credit.take())
})
