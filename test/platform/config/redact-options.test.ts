import t from 'tap'
import { Type } from '../../../core/schema.ts'
import { MASK } from '../../../lib/text/redact.ts'
import { maskOptions } from '../../../platform/config/redact-options.ts'

t.test('what the schema calls secret is not told, however deep it lies', async (t) => {
  const schema = Type.Object({
    keys: Type.Array(Type.String(), { writeOnly: true }),
    header: Type.String(),
    inner: Type.Object({ pin: Type.Integer({ writeOnly: true }), limit: Type.Integer() }),
    either: Type.Union([Type.String({ writeOnly: true }), Type.Boolean()]),
    pins: Type.Record(Type.String(), Type.String({ writeOnly: true })),
    users: Type.Array(Type.Object({ id: Type.String(), hash: Type.String({ writeOnly: true }) })),
  })
  const options = {
    keys: ['shop 3b2f'],
    header: 'X-Api-Key',
    inner: { pin: 1234, limit: 5 },
    either: 'x',
    pins: { ann: '1', bob: '2' },
    users: [{ id: 'ann', hash: 'h' }],
  }
  t.strictSame(maskOptions(options, schema), {
    keys: MASK,
    header: 'X-Api-Key',
    inner: { pin: MASK, limit: 5 },
    either: MASK,
    pins: { ann: MASK, bob: MASK },
    users: MASK,
  })
})

t.test(
  'names that say so, and logins in URLs, are secret without a schema saying it',
  async (t) => {
    const schema = Type.Object({
      clientSecret: Type.String(),
      forwardToken: Type.Boolean(),
      url: Type.String(),
      urls: Type.Array(Type.String()),
      mail: Type.String(),
    })
    const options = {
      clientSecret: 'abc',
      forwardToken: true,
      url: 'https://ann:pw@host/path?x=a@b',
      urls: ['nats://t0ken@host'],
      mail: 'ann@example.com',
    }
    t.strictSame(maskOptions(options, schema), {
      clientSecret: MASK,
      forwardToken: true,
      url: `https://${MASK}@host/path?x=a@b`,
      urls: [`nats://${MASK}@host`],
      mail: 'ann@example.com',
    })
  },
)

t.test('of a plugin without a schema only numbers, truths and their names are told', async (t) => {
  const options = { limit: 3, on: true, name: 'x', list: ['a'], inner: { a: 1 } }
  t.strictSame(maskOptions(options, undefined), {
    limit: 3,
    on: true,
    name: MASK,
    list: MASK,
    inner: MASK,
  })
})
