import t from 'tap'
import { openPlatformStore } from '../../fixtures/platform-store.ts'

const KEY = 'must be 1 to 1024 bytes of UTF-8 without NUL'
const NAME = 'must be letters, digits and inner dots, dashes or underscores, at most 253'
const NAMESPACE =
  'must be letters, digits and inner dots, dashes or underscores; mx in lower case only; at most 253 characters'
const PART = 'must be at most 1024 bytes of UTF-8 without NUL'
const LONG = 'k'.repeat(1025)

/** Method, request and prefix of the error message. */
const ROWS: readonly (readonly [string, unknown, string])[] = [
  ['Write', {}, 'exactly one of request.record and request.records is required'],
  ['Write', { record: {} }, 'request.record.key'],
  ['Write', { record: { key: '' } }, `request.record.key ${KEY}, got ""`],
  ['Write', { record: { key: LONG } }, `request.record.key ${KEY}`],
  ['Write', { record: { key: 'é'.repeat(513) } }, `request.record.key ${KEY}`],
  ['Write', { record: { key: 'a\0' } }, `request.record.key ${KEY}`],
  ['Write', { record: { key: '\ud800' } }, `request.record.key ${KEY}`],
  ['Write', { record: { key: 5 } }, 'request.record.key must be'],
  ['Write', { record: { key: ['a'] } }, 'request.record.key must be'],
  ['Write', { record: { key: 'a', value: '*' } }, 'request.record.value must be base64'],
  ['Write', { record: { key: 'a', value: 1 } }, 'request.record.value must be'],
  [
    'Write',
    { record: { key: 'a', value: Buffer.alloc(1024 * 1024 + 1).toString('base64') } },
    'request.record.value must be at most 1048576 bytes, got 1048577',
  ],
  ['Write', { record: { key: 'a', expiry: -1 } }, 'request.record.expiry must be'],
  ['Write', { record: { key: 'a', expiry: 1.5 } }, 'request.record.expiry must be'],
  ['Write', { record: { key: 'a', expiry: 1e11 } }, 'request.record.expiry must be'],
  ['Write', { record: { key: 'a', metadata: { b: 'c' } } }, 'request.record.metadata.b must be'],
  [
    'Write',
    { record: { key: 'a', metadata: { b: { value: 1 } } } },
    'request.record.metadata.b.value must be',
  ],
  [
    'Write',
    { record: { key: 'a', metadata: { b: { type: 'a:b' } } } },
    'request.record.metadata.b.type must',
  ],
  [
    'Write',
    { record: { key: 'a', metadata: { b: { value: 'x'.repeat(16_384) } } } },
    'request.record.metadata must be at most 16384 bytes',
  ],
  [
    'Write',
    { record: { key: 'a' }, options: { database: '..' } },
    `request.options.database ${NAMESPACE}, got ".."`,
  ],
  ['Write', { record: { key: 'a' }, options: { table: 'a/b' } }, `request.options.table ${NAME}`],
  [
    'Write',
    { record: { key: 'a' }, options: { table: '__proto__' } },
    `request.options.table ${NAME}`,
  ],
  ['Write', { record: { key: 'a' }, options: { version: -1 } }, 'request.options.version must be'],
  ['Write', { record: { key: 'a' }, options: { version: 'x' } }, 'request.options.version must be'],
  ['Write', { record: { key: 'a' }, options: 5 }, 'request.options must be'],
  ['Read', {}, 'request.key or one of'],
  ['Read', { key: 'a\0' }, `request.key ${PART}`],
  ['Read', { key: LONG }, `request.key ${PART}`],
  ['Read', { key: 'a', options: { prefix: 'b' } }, 'request.key must be empty'],
  ['Read', { key: 'a', options: { from: 'b' } }, 'request.key must be empty'],
  ['Read', { options: { prefix: 5 } }, 'request.options.prefix must be'],
  ['Read', { options: { prefix: '\0' } }, `request.options.prefix must be true, false, or at most`],
  ['Read', { options: { suffix: LONG } }, `request.options.suffix must be true, false, or at most`],
  ['Read', { options: { from: '\0' } }, `request.options.from ${PART}`],
  ['Read', { options: { to: LONG } }, `request.options.to ${PART}`],
  ['Read', { options: { after: '\ud800' } }, `request.options.after ${PART}`],
  ['Read', { options: { prefix: true, order: 'up' } }, 'request.options.order must be'],
  ['Read', { options: { prefix: true, limit: -1 } }, 'request.options.limit must be'],
  ['Read', { options: { prefix: true, offset: 'x' } }, 'request.options.offset must be'],
  ['Read', { options: { prefix: true, database: 'a b' } }, `request.options.database ${NAMESPACE}`],
  ['Delete', {}, 'request.key is missing'],
  ['Delete', { key: '' }, `request.key ${KEY}`],
  ['Delete', { key: 'a', options: { version: 0.5 } }, 'request.options.version must be'],
  ['Tables', { database: '/' }, `request.database ${NAMESPACE}`],
]

t.test(
  'rejects a malformed request with 400 and the path of the field, and stores nothing',
  async (t) => {
    const { call, stream } = await openPlatformStore(t)
    for (const [method, request, message] of ROWS) {
      const error = (await call(method, request).catch((error: unknown) => error)) as Error
      t.match(error, { code: 400 }, `${method} ${JSON.stringify(request).slice(0, 80)}`)
      t.ok(error.message.startsWith(message), `${error.message} begins with ${message}`)
    }
    for (const [method, request, message] of [
      ['List', { options: { prefix: true } }, 'request.options.prefix must be'],
      ['List', { options: { suffix: '\0' } }, `request.options.suffix ${PART}`],
      ['List', { options: { limit: -1 } }, 'request.options.limit must be'],
      ['Watch', { options: { prefix: LONG } }, `request.options.prefix ${PART}`],
      ['Watch', { options: { table: 'é' } }, `request.options.table ${NAME}`],
    ] as const) {
      const error = (await stream(method, request)
        .next()
        .catch((error: unknown) => error)) as Error
      t.match(error, { code: 400 })
      t.ok(error.message.startsWith(message), error.message)
    }
    t.strictSame(await call('Databases'), { databases: [] })
  },
)
