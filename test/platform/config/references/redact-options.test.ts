import t from 'tap'
import { Type } from '../../../../core/schema.ts'
import { REDACTED } from '../../../../lib/text/redact.ts'
import { redactOptions } from '../../../../platform/config/references/redact-options.ts'

t.test('redacts writeOnly options at any depth', async (t) => {
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
  t.strictSame(redactOptions(options, schema), {
    keys: REDACTED,
    header: 'X-Api-Key',
    inner: { pin: REDACTED, limit: 5 },
    either: REDACTED,
    pins: { ann: REDACTED, bob: REDACTED },
    users: REDACTED,
  })
})

t.test('redacts options with secret names and userinfo in URLs', async (t) => {
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
  t.strictSame(redactOptions(options, schema), {
    clientSecret: REDACTED,
    forwardToken: true,
    url: `https://${REDACTED}@host/path?x=a@b`,
    urls: [`nats://${REDACTED}@host`],
    mail: 'ann@example.com',
  })
})

t.test('without a schema, only numbers and booleans are visible', async (t) => {
  const options = { limit: 3, on: true, name: 'x', list: ['a'], inner: { a: 1 } }
  t.strictSame(redactOptions(options, undefined), {
    limit: 3,
    on: true,
    name: REDACTED,
    list: REDACTED,
    inner: REDACTED,
  })
})
