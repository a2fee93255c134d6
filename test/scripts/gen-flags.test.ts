import t from 'tap'
import { formatFlags, replaceFlags } from '../../scripts/gen-flags.ts'

t.test('every setting is a row with flag, default and meaning', async (t) => {
  const table = formatFlags()
  t.match(table, /^\| flag \| default \| \|\n\|---\|---\|---\|\n/)
  t.match(table, '| `--address <host:port>` | `127.0.0.1:8080` | Where to listen')
  t.match(table, /\| `--enable_tls` \| `false` \|/)
  t.match(table, /\| `--backend <[^|]+>` \| {2}\|[^|]+; repeatable \|/)
})

t.test('only what stands between the marks is replaced', async (t) => {
  const text = 'a\n<!-- flags: written by `npm run gen` -->\nold\n<!-- /flags -->\nb\n'
  t.equal(
    replaceFlags(text, 'new\n'),
    'a\n<!-- flags: written by `npm run gen` -->\nnew\n<!-- /flags -->\nb\n',
  )
})

t.test('a README without the marks is refused', async (t) => {
  t.throws(() => replaceFlags('nothing', ''), /README.md must hold/)
})
