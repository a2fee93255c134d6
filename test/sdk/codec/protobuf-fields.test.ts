import protobuf from 'protobufjs'
import t from 'tap'
import {
  enumOf,
  fieldsOf,
  hasZero,
  isWellKnown,
  messageOf,
} from '../../../sdk/codec/protobuf-fields.ts'

const { root } = protobuf.parse(
  `syntax = "proto2";
  package p;
  enum E { A = 0; }
  message M {
    optional E e = 1;
    optional M m = 2;
    optional string s = 3;
    extensions 100 to 200;
  }
  extend M { optional string outside = 100; }
  message Timestamp {}`,
  { keepCase: true },
)
root.resolveAll()
const M = root.lookupType('p.M')

t.test('lists the fields of a message without extensions', async (t) => {
  t.strictSame(
    fieldsOf(M).map(({ name }) => name),
    ['e', 'm', 's'],
  )
})

t.test('returns the enum or message type of a field', async (t) => {
  const [e, m, s] = fieldsOf(M)
  t.equal(enumOf(e!)?.name, 'E')
  t.equal(enumOf(m!), undefined)
  t.equal(messageOf(m!), M)
  t.equal(messageOf(e!), undefined)
  t.equal(messageOf(s!) ?? enumOf(s!), undefined)
})

t.test('repeated, map and proto3 fields without `optional` have zero values', async (t) => {
  const text = `syntax = "proto3";
    message N {
      string plain = 1;
      optional string maybe = 2;
      oneof one { string a = 3; }
      N inner = 4;
      repeated N list = 5;
      map<string, N> map = 6;
    }`
  const parsed = protobuf.parse(text).root.resolveAll()
  t.strictSame(
    fieldsOf(parsed.lookupType('N'))
      .filter(hasZero)
      .map(({ name }) => name),
    ['plain', 'list', 'map'],
  )
})

t.test('only messages of google.protobuf are well-known types', async (t) => {
  t.notOk(isWellKnown(root.lookupType('p.Timestamp')))
})
