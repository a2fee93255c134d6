import t from 'tap'
import { parseConfig } from '../../../platform/config/parse-file.ts'

t.test('consumers have an account, its namespace, and plugins', async (t) => {
  const { consumers } = parseConfig(
    `consumers:
  - account: partner
    plugins: [ body-limit: { limit: 3 } ]
  - { account: partner, namespace: acme }
`,
    'mx.yaml',
  )
  t.match(consumers, [
    {
      account: 'partner',
      namespace: 'mx',
      plugins: [{ specifier: 'body-limit' }],
      at: 'mx.yaml:2:5',
    },
    { account: 'partner', namespace: 'acme', plugins: [] },
  ])
})

t.test('malformed consumers are rejected with their position', async (t) => {
  for (const [text, problem] of [
    ['consumers: { a: 1 }', 'mx.yaml:1:12: consumers must be a list, such as "- account: partner"'],
    ['consumers: [{ namespace: a }]', 'mx.yaml:1:13: consumer 1 must have an account'],
    [
      'consumers: [{ acount: a }]',
      'mx.yaml:1:15: unknown key "acount" of consumer 1, did you mean "account"?',
    ],
    [
      'consumers: [{ account: a }, { account: a }]',
      'mx.yaml:1:29: duplicate account "a" of namespace "mx"',
    ],
  ] as const)
    t.throws(() => parseConfig(text, 'mx.yaml'), { message: problem })
})
