import t from 'tap'
import { limitBaggage } from '../../../core/tracing/baggage.ts'

t.test('baggage is limited to 64 members and 8192 bytes', async (t) => {
  const member = (i: number): string => `k${i}=v;property=1`
  const members = Array.from({ length: 70 }, (_, i) => member(i))
  t.equal(limitBaggage(''), '')
  t.equal(limitBaggage('user=7, tenant=8'), 'user=7, tenant=8')
  t.equal(limitBaggage(members.slice(0, 64).join()), members.slice(0, 64).join())
  t.equal(limitBaggage(members.join()), members.slice(0, 64).join())
  const big = ['a', 'b', 'c'].map((key) => `${key}=${key.repeat(4000)}`)
  t.equal(limitBaggage(big.join()), big.slice(0, 2).join())
  t.equal(limitBaggage(`${'x'.repeat(8191)},`), `${'x'.repeat(8191)},`)
  t.equal(limitBaggage('x'.repeat(8193)), '')
})
