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

t.test('the fields of a message, without those others added', async (t) => {
  t.strictSame(
    fieldsOf(M).map(({ name }) => name),
    ['e', 'm', 's'],
  )
})

t.test('what the values of a field are', async (t) => {
  const [e, m, s] = fieldsOf(M)
  t.equal(enumOf(e!)?.name, 'E')
  t.equal(enumOf(m!), undefined)
  t.equal(messageOf(m!), M)
  t.equal(messageOf(e!), undefined)
  t.equal(messageOf(s!) ?? enumOf(s!), undefined)
})

t.test(
  'fields that cannot be missing: lists, maps, and single values of proto3 without `optional`',
  async (t) => {
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
  },
)

t.test('only messages of google.protobuf are well-known', async (t) => {
  t.notOk(isWellKnown(root.lookupType('p.Timestamp')))
})
