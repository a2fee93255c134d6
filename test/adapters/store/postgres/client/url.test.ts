import t from 'tap'
import { parsePostgresUrl } from '../../../../../adapters/store/postgres/client/url.ts'

t.test('parses server, credentials and parameters', async (t) => {
  t.same(
    parsePostgresUrl(
      'postgres://mx:p%40s%2Fs@db.internal:6000/state?sslmode=verify-ca&sslrootcert=/ca.pem&sslcert=/c.pem&sslkey=/k.pem&schema=staging',
    ),
    {
      host: 'db.internal',
      port: 6000,
      user: 'mx',
      password: 'p@s/s',
      database: 'state',
      schema: 'staging',
      sslmode: 'verify-ca',
      caFile: '/ca.pem',
      certFile: '/c.pem',
      keyFile: '/k.pem',
    },
  )
  t.match(parsePostgresUrl('postgresql://[::1]/mx'), { host: '::1', port: 5432, schema: 'mx' })
})

t.test('accepts a Unix socket as encoded host or parameter', async (t) => {
  t.match(parsePostgresUrl('postgres://mx@%2Frun%2Fpostgresql:6000/mx'), {
    host: '/run/postgresql',
    port: 6000,
    user: 'mx',
    sslmode: 'disable',
  })
  t.match(parsePostgresUrl('postgres:///mx?host=/run/postgresql'), { host: '/run/postgresql' })
})

t.test('trusts only local hosts without TLS by default', async (t) => {
  for (const host of ['localhost', '127.0.0.1', '127.1.2.3', '[::1]', '%2Frun'])
    t.equal(parsePostgresUrl(`postgres://${host}/mx`).sslmode, 'disable', host)
  for (const host of ['10.0.0.1', 'db', '127.example.com', 'localhost.example.com', '[fd00::1]'])
    t.equal(parsePostgresUrl(`postgres://${host}/mx`).sslmode, 'verify-full', host)
  t.equal(parsePostgresUrl('postgres://db/mx?sslmode=disable').sslmode, 'disable')
})

t.test('names the invalid part without quoting the URL', async (t) => {
  for (const [text, expected] of [
    ['mysql://u:secret@h/d', /malformed URL/],
    ['postgres://u:secret/x@h/d', /malformed URL; percent-encode/],
    ['postgres://u:secret@:5432/d', /malformed URL/],
    ['postgres:///d', /missing host/],
    ['postgres://h/d?host=/run', /two hosts/],
    ['postgres:///d?host=run', /folder of a Unix socket/],
    ['postgres://u:secret@h', /expected one database/],
    ['postgres://u:secret@h/a/b', /expected one database/],
    ['postgres://u:secret@h/d#x', /a fragment is not supported/],
    ['postgres://u:%zz@h/d', /password must be percent-encoded/],
    [
      'postgres://u:secret@h/d?sslmod=require',
      /unknown parameter "sslmod" \(did you mean sslmode\?\)/,
    ],
    ['postgres://u@h/d?password=secret', /unknown parameter "password" \(expected host, /],
    ['postgres://h/d?sslmode=prefer', /one of disable, require, verify-ca, verify-full/],
    ['postgres://h/d?sslmode=', /sslmode= must have a value/],
    ['postgres://h/d?sslmode=require&sslmode=disable', /duplicate parameter sslmode/],
    ['postgres://%2Frun/d?sslmode=require', /Unix socket does not support TLS/],
    ['postgres://h/d?sslmode=disable&sslrootcert=/ca', /certificates require/],
    ['postgres://h/d?sslcert=/c', /sslcert and sslkey must be set together/],
    ['postgres://h/d?schema=Bad', /schema must be at most 40/],
    ['postgres://h/d?schema=pg_mx', /schema must be at most 40/],
    [`postgres://h/d?schema=${'x'.repeat(41)}`, /schema must be at most 40/],
  ] as const) {
    let message = ''
    try {
      parsePostgresUrl(text)
    } catch (error) {
      t.type(error, RangeError)
      message = (error as Error).message
    }
    t.match(message, expected, text)
    t.match(
      message,
      /^invalid PostgreSQL URL, expected postgres:\/\/user:password@host:port\/database/,
    )
    t.notMatch(message, /secret/)
  }
})
