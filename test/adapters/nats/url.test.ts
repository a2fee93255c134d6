import t from 'tap'
import { formatNatsAddress, type NatsAddress, parseNatsUrl } from '../../../adapters/nats/url.ts'

const local = { host: '127.0.0.1', port: 4222 }

t.test('parses servers, credentials and prefix', async (t) => {
  const texts: [string, NatsAddress][] = [
    ['nats://127.0.0.1:4222', { hosts: [local], secure: false, prefix: 'mx' }],
    [' nats://127.0.0.1/ ', { hosts: [local], secure: false, prefix: 'mx' }],
    [
      'tls://a.example,[::1]:4333,b_c:1?prefix=acme.test',
      {
        hosts: [
          { host: 'a.example', port: 4222 },
          { host: '::1', port: 4333 },
          { host: 'b_c', port: 1 },
        ],
        secure: true,
        prefix: 'acme.test',
      },
    ],
    ['nats://[::1]', { hosts: [{ host: '::1', port: 4222 }], secure: false, prefix: 'mx' }],
    [
      'nats://s%40cret%3A@127.0.0.1',
      { hosts: [local], secure: false, token: 's@cret:', prefix: 'mx' },
    ],
    [
      'nats://ann:p%40ss:w%2Frd@127.0.0.1',
      { hosts: [local], secure: false, user: 'ann', password: 'p@ss:w/rd', prefix: 'mx' },
    ],
    [
      'tls://127.0.0.1?ca=/etc/ca.pem&cert=/etc/c.pem&key=/etc/k.pem',
      {
        hosts: [local],
        secure: true,
        caFile: '/etc/ca.pem',
        certFile: '/etc/c.pem',
        keyFile: '/etc/k.pem',
        prefix: 'mx',
      },
    ],
  ]
  for (const [text, address] of texts) t.strictSame(parseNatsUrl(text), address, text)
})

t.test('names the invalid part without secrets', async (t) => {
  const invalidUrls: [string, RegExp][] = [
    ['nats:127.0.0.1', /malformed URL/],
    ['http://127.0.0.1', /malformed URL/],
    ['nats://a:s3cret@b@c', /malformed URL; percent-encode @ : \/ \? # % in a user/],
    ['nats://', /servers must be host:port/],
    ['nats://a,,b', /servers must be host:port/],
    ['nats://a:0', /with ports from 1 to 65535/],
    ['nats://a:65536', /with ports from 1 to 65535/],
    ['nats://a:x', /servers must be/],
    ['nats://a b', /servers must be/],
    ['nats://::1', /servers must be/],
    ['nats://@a', /expected a token or user:password/],
    ['nats://:s3cret@a', /user and password must not be empty/],
    ['nats://ann:@a', /user and password must not be empty/],
    ['nats://%zzs3cret@a', /must be percent-encoded/],
    ['nats://a?ca=/x', /certificates require tls/],
    ['tls://a?cert=/x', /cert and key must be set together/],
    ['nats://a?prefx=x', /unknown parameter "prefx" \(did you mean prefix\?\)/],
    ['nats://a?quite=x', /unknown parameter "quite" \(expected prefix, ca, cert, key\)/],
    ['nats://a?prefix=', /prefix= must have a value/],
    ['nats://a?prefix=x&prefix=y', /duplicate parameter prefix/],
    ['nats://a?prefix=*', /prefix must be/],
    [`nats://a?prefix=${'x'.repeat(65)}`, /prefix must be at most 64/],
    ['nats://a#b', /malformed URL/],
    ['nats://a:s/3cret@b', /malformed URL/],
    ['nats://a?prefix=x@b', /prefix must be/],
  ]
  for (const [text, message] of invalidUrls) {
    t.throws(() => parseNatsUrl(text), { name: 'RangeError', message }, text)
    t.throws(
      () => parseNatsUrl(text),
      { message: /^(?!.*s3cret)invalid NATS URL, expected nats:/ },
      text,
    )
  }
})

t.test('formats only the servers for logs', async (t) => {
  const formatted = formatNatsAddress(parseNatsUrl('tls://ann:s3cret@a,[::1]:5?prefix=x'))
  t.equal(formatted, 'tls://a:4222,[::1]:5')
})
