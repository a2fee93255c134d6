import t from 'tap'
import { Type } from '../../../core/schema.ts'
import { compileSchema } from '../../../sdk/schema/schema.ts'
import { Entry, WhenSlowChoice } from '../../../services/broker/messages.ts'

t.test('header and body of a message are optional', async (t) => {
  const { decode } = compileSchema(Entry, 'message')
  t.strictSame(await decode({}), { header: {}, body: Buffer.alloc(0) })
  t.strictSame(await decode({ header: { a: 'b' }, body: 'eA==' }), {
    header: { a: 'b' },
    body: Buffer.from('x'),
  })
  for (const [invalid, message] of [
    [{ body: '%' }, /message\.body must be base64/],
    [{ header: { a: 1 } }, /message\.header/],
    [{ header: 'a' }, /message\.header/],
  ] as const)
    await t.rejects(async () => decode(invalid), { message })
})

t.test('when_slow accepts only the listed values', async (t) => {
  const { decode } = compileSchema(Type.Object({ when_slow: WhenSlowChoice }), 'request')
  t.strictSame(await decode({}), { when_slow: '' })
  t.strictSame(await decode({ when_slow: 'drop-old' }), { when_slow: 'drop-old' })
  await t.rejects(async () => decode({ when_slow: 'wait' }), { message: /request\.when_slow/ })
})
