import t from 'tap'
import { createNullProto } from '../../../lib/object/null-proto.ts'

t.test('a null-prototype object inherits no names', async (t) => {
  const object = createNullProto<Record<string, unknown>>()
  for (const name of [...Object.getOwnPropertyNames(Object.prototype), 'a']) {
    t.notOk(name in object, name)
    t.equal(object[name], undefined, name)
  }
  t.equal(Object.getPrototypeOf(Object.getPrototypeOf(object)), null)
})

t.test('null-prototype objects share no members, and their prototype is frozen', async (t) => {
  const first = createNullProto<Record<string, unknown>>()
  first['toString'] = 1
  const { ['__proto__']: inherited } = first
  t.equal(inherited, undefined)
  t.equal(createNullProto<Record<string, unknown>>()['toString'], undefined)
  t.throws(() => Object.assign(Object.getPrototypeOf(first), { a: 1 }), TypeError)
})

t.test('a null-prototype object serializes and clones like any object', async (t) => {
  t.equal(
    JSON.stringify(Object.assign(createNullProto(), { valueOf: 1, b: [createNullProto()] })),
    '{"valueOf":1,"b":[{}]}',
  )
  t.same(structuredClone(Object.assign(createNullProto(), { a: 1 })), { a: 1 })
})
