import t from 'tap'
import { RETENTION_TIME, SIZE_OR_ZERO } from '../../../../lib/values/amount.ts'
import { TOPIC_RETENTIONS } from '../../../../platform/settings/parse/retention.ts'

const parseAge = (text: string) => RETENTION_TIME.parse([text])
const parseBytes = (text: string) => SIZE_OR_ZERO.parse([text])

t.test('parses a retention time and size, with none as 0', async (t) => {
  t.strictSame(['7d', '1s', 'none'].map(parseAge), [604_800_000, 1000, 0])
  t.strictSame(['1gb', '1', 'none'].map(parseBytes), [1024 ** 3, 1, 0])
  for (const invalid of ['', '999ms', '0', '-1d', '36501d', 'week'])
    t.throws(() => parseAge(invalid), { name: 'RangeError', message: /^must be a duration/ })
  for (const invalid of ['', '0', 'big'])
    t.throws(() => parseBytes(invalid), { name: 'RangeError', message: /^must be a size/ })
})

t.test('parses the retention of single topics', async (t) => {
  t.strictSame(TOPIC_RETENTIONS.parse([]), {})
  t.same(TOPIC_RETENTIONS.parse(['audit=none;none', 'clicks.v1=1h;100mb', 'constructor=30d']), {
    audit: { maxAgeMs: 0, maxBytes: 0 },
    'clicks.v1': { maxAgeMs: 3_600_000, maxBytes: 100 * 1024 ** 2 },
    constructor: { maxAgeMs: 30 * 86_400_000 },
  })
  for (const [text, message] of [
    ['audit', /^must be topic=duration\[;size\], got "audit"$/],
    ['a=1d=2', /^must be topic=duration/],
    ['a b=1d', /^names of topics must be letters.*got "a b"$/],
    ['a=week', /^of the topic a must be a duration .*, got "week"$/],
    ['a=1d;0', /^of the topic a must be a size .*, got "0"$/],
    ['a=1d;1;1', /^of the topic a must be duration\[;size\], got "1d;1;1"$/],
  ] as const)
    t.throws(() => TOPIC_RETENTIONS.parse([text]), { name: 'RangeError', message })
  t.throws(() => TOPIC_RETENTIONS.parse(['a=1d', 'a=2d']), {
    message: /^contains the duplicate topic a$/,
  })
})
