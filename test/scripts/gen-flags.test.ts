import t from 'tap'
import { formatSettings, replaceFlags } from '../../scripts/gen-flags.ts'

t.test(
  'every setting is a row with flag, command, default, meaning, allowed values and effect of a change',
  async (t) => {
    const table = formatSettings()
    t.match(table, /^\n\| flag \| only \| default \| meaning \| values \| in mx.yaml \|\n/)
    t.match(
      table,
      '| `--address <host:port or unix:/path>` |  | `127.0.0.1:8080` | Address to listen on',
    )
    t.match(table, '| `--handler <name>` | api | `meta` | How requests')
    t.match(table, '| `--store <name or url>` |  | `lmdb` | Store for the ACME certificates')
    t.match(table, '| `--events <name or url>` | server |')
    t.match(table, '| `--namespace <prefix>` |  | `go.mx.api`; server: none | Prefix')
    t.match(table, /\| `--enable_tls` \| {2}\| `false` \|/)
    t.match(table, /\| `--backend <[^|]+>` \| {2}\| {2}\|[^|]+; repeatable \|/)
    t.match(table, /\| `--max_body <size>` .* \| a size of at least 1 byte, or none \| live \|\n/)
    t.match(table, /\| `--listener <name>` .* \| restart \|\n/)
    t.match(table, /\| `--config <file>` .* \| - \|\n/)
  },
)

t.test('replaces only the text between the markers', async (t) => {
  const text = 'a\n<!-- flags: written by `npm run gen` -->\nold\n<!-- /flags -->\nb\n'
  t.equal(
    replaceFlags(text, 'new\n'),
    'a\n<!-- flags: written by `npm run gen` -->\nnew\n<!-- /flags -->\nb\n',
  )
})

t.test('rejects a text without markers', async (t) => {
  t.throws(() => replaceFlags('nothing', ''), /missing marker/)
})
