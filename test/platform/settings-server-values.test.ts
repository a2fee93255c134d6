import t from 'tap'
import { hideSecret, parseStoreText } from '../../platform/settings-server-values.ts'

t.test('a store is memory, lmdb or the URL of a PostgreSQL server', async (t) => {
  for (const text of ['memory', 'lmdb', 'postgres://mx:secret@127.0.0.1:5432/mx?schema=a'])
    t.equal(parseStoreText(` ${text} `), text)
  const wrong: Record<string, RegExp> = {
    memroy: /must be memory, lmdb .*, got "memroy", did you mean memory\?$/,
    'redis://a:pass@b:1': /got "redis:\/\/\[secret\]@b:1"$/,
    'postgres://a:pass@h:1/': /^cannot be used: PostgreSQL is .*: it must name one database$/,
    '': /got ""$/,
  }
  for (const [text, message] of Object.entries(wrong))
    t.throws(() => parseStoreText(text), { name: 'RangeError', message }, text)
})

t.test('what may be a secret is not shown', async (t) => {
  t.equal(hideSecret('postgres://u:p@ss@h:1/d'), 'postgres://[secret]@h:1/d')
  t.equal(hideSecret('consul://token@h:1?dc=a'), 'consul://[secret]@h:1?dc=a')
  t.equal(hideSecret('nats://h:4222'), 'nats://h:4222')
})
