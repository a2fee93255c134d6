import t from 'tap'
import { toField } from '../../../web/form/field.ts'
import { maskSecrets, withoutSecrets } from '../../../web/form/secrets.ts'

t.test('removes secrets of the schema at any depth', (t) => {
  const secret = { type: 'string', writeOnly: true }
  const inner = { type: 'object', properties: { secret, id: { type: 'string' } } }
  const form = toField({
    type: 'object',
    properties: {
      ...{ secret, inner },
      list: { type: 'array', items: inner },
      map: { type: 'object', additionalProperties: inner },
      either: { anyOf: [{ type: 'string' }, inner] },
      pair: { type: 'array', prefixItems: [inner, { type: 'string' }] },
    },
  })
  const input = { secret: 'S', id: 'public' }
  const output = { id: 'public' }
  t.same(
    withoutSecrets(form, {
      ...{ secret: 'S', inner: input, list: [input], map: { a: input }, either: input },
      ...{ pair: [input, 'x'], unknown: { note: 'public' } },
    }),
    {
      ...{ inner: output, list: [output], map: { a: output }, either: output },
      ...{ pair: [output, 'x'], unknown: { note: 'public' } },
    },
  )
  t.equal(withoutSecrets(form, null), null)
  t.equal(withoutSecrets(form, 'x'), 'x')
  t.end()
})

t.test('removes lists of secrets, and unions with a secret', (t) => {
  const secret = { type: 'string', writeOnly: true }
  const either = { anyOf: [secret, { type: 'object', properties: { id: { type: 'string' } } }] }
  const form = toField({
    type: 'object',
    properties: {
      ...{ keys: { type: 'array', items: secret }, pair: { prefixItems: [secret], type: 'array' } },
      ...{ either, all: { type: 'array', items: either } },
      open: { type: 'object', additionalProperties: secret },
      mixed: { type: 'array', prefixItems: [{ type: 'string' }], items: secret },
    },
    additionalProperties: secret,
  })
  const request = {
    ...{ keys: ['S', 'S'], pair: ['S'], either: 'S', all: ['S'], open: { a: 'S' } },
    ...{ mixed: ['x', 'S'], unnamed: 'S' },
  }
  t.same(withoutSecrets(form, request), { keys: [], pair: [], all: [], open: {} })
  t.same(maskSecrets(form, request), {
    ...{ keys: ['********', '********'], pair: ['********'], either: '********' },
    ...{ all: ['********'], open: { a: '********' }, mixed: '********', unnamed: '********' },
  })
  t.same(withoutSecrets(toField(secret), 'S'), {})
  t.end()
})

t.test('without a schema, removes secrets by name and credentials in URLs', (t) => {
  const request = {
    ...{ password: 'S', token: 'S', api_key: 'S', secrets: ['S'], max_tokens: 5, name: 'Ann' },
    ...{ inner: [{ userPassword: 'S', id: 1 }], url: 'https://ann:S@host/x' },
  }
  const output = {
    ...{ secrets: [], max_tokens: 5, name: 'Ann', inner: [{ id: 1 }] },
    url: 'https://********@host/x',
  }
  t.same(withoutSecrets(toField({}), request), output)
  const form = toField({
    type: 'object',
    properties: {
      ...{ password: { type: 'string' }, name: { type: 'string' } },
      token_type: { enum: ['bearer', 'basic'] },
    },
  })
  t.same(withoutSecrets(form, { password: 'S', name: 'Ann', token_type: 'basic' }), {
    ...{ name: 'Ann', token_type: 'basic' },
  })
  t.same(maskSecrets(form, { password: 'S' }), { password: '********' })
  t.end()
})

t.test('treats recursive alternatives that are too complex as secret', (t) => {
  const self = { $ref: '#/$defs/A' }
  const node = (more: object) => ({ type: 'object', properties: { a: self, ...more } })
  const form = toField({
    ...self,
    $defs: { A: { anyOf: [node({}), node({ b: { type: 'string', writeOnly: true } })] } },
  })
  const nest = (levels: number): object => (levels === 0 ? { b: 'S' } : { a: nest(levels - 1) })
  t.same(withoutSecrets(form, nest(3)), { a: { a: { a: {} } } })
  t.same(withoutSecrets(form, nest(60)), {})
  t.equal(maskSecrets(form, nest(60)), '********')
  t.end()
})
