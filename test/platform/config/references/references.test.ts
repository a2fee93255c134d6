import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { References } from '../../../../platform/config/references/references.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'
import { listProblems } from '../../../fixtures/settings-problems.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const ENV = { PORT: '4711', FLAG: 'true', HOSTS: '10.0.0.0/8,oops', EMPTY: '', TOKEN: 'hunter2!' }

function parse(text: string, file = 'mx.yaml', env: Record<string, string> = ENV) {
  return parseConfig(text, file, 'api', new References(env))
}

const toProblems = (text: string, file?: string) => listProblems(() => parse(text, file))

t.test('resolves variables in values and in parts of values, with the type of the setting', (t) => {
  const { settings, services, routes } = parse(`
address: 127.0.0.1:\${PORT}
workers: \${WORKERS:-3}
forward_token: \${FLAG}
namespace: "\${NONE:-}"
trusted_proxies: ["\${NET:-10.0.0.0/8}", loopback]
services: { a: "127.0.0.1:\${PORT}" }
routes:
  - respond: { body: "pay $\${PORT} or \${PORT}, $5 and $$", headers: { x-token: "\${TOKEN}" } }
`)
  t.match(mergeSettings(settings), {
    address: { host: '127.0.0.1', port: 4711 },
    workers: 3,
    forwardToken: true,
    namespace: '',
    trustedProxies: ['10.0.0.0/8', 'loopback'],
  })
  t.same(services[0]!.nodes, ['127.0.0.1:4711'])
  t.match(routes[0]!.action, {
    body: `pay \${PORT} or 4711, $5 and $$`,
    headers: ['x-token', 'hunter2!'],
  })
  t.end()
})

t.test('a value cannot change the structure of the file', (t) => {
  const env = { EVIL: 'x"\nworkers: 7\n- {a: b}' }
  const { settings, routes } = parse(
    `routes:\n  - respond: { body: "\${EVIL}" }\n  - respond: { body: "\${EVIL} # " }\n`,
    'mx.yaml',
    env,
  )
  t.equal(settings.size, 0)
  t.same(
    routes.map(({ action }) => action.kind === 'respond' && action.body),
    [env.EVIL, `${env.EVIL} # `],
  )
  t.end()
})

t.test('names, keys and comments are not resolved', (t) => {
  t.match(toProblems(`"\${PORT}": 1\n`), [/unknown key "\$\{PORT\}"/])
  t.same(toProblems(`# \${NONE}\nworkers: 1\n`), [])
  t.end()
})

t.test('reports every missing variable with file, line, key and name', (t) => {
  t.same(
    toProblems(`address: 127.0.0.1:\${NONE}
services: { a: { nodes: [127.0.0.1:1, "\${EMPTY}"] } }
plugins:
  - headers: { reply: { set: { x-a: "\${file:none}" } } }
`),
    [
      `mx.yaml:1:10: address: environment variable NONE is not set; set it, or add a default: \${NONE:-default}`,
      `mx.yaml:2:39: services.a.nodes[1]: environment variable EMPTY is not set; set it, or add a default: \${EMPTY:-default}`,
      'mx.yaml:4:37: plugins[0].headers.reply.set.x-a: cannot read file none: it does not exist',
    ],
  )
  t.end()
})

t.test('reports malformed references and unquoted ones in lists', (t) => {
  t.match(toProblems(`address: \${PORT\n`), [/^mx\.yaml:1:10: address: reference without "}"/])
  for (const invalid of [`\${}`, `\${1A}`, `\${a b}`, `\${file:}`, `\${env:A}`, `\${A:+b}`])
    t.match(
      toProblems(`address: "${invalid}"\n`),
      [/must be \$\{NAME\}, \$\{NAME:-default\}/],
      invalid,
    )
  t.match(toProblems(`plugins: [\${PORT}]\n`), [/needs quotes/])
  t.end()
})

t.test('an error shows the reference instead of the value', (t) => {
  t.match(toProblems(`workers: \${TOKEN}\n`), [/^mx\.yaml:1:10: workers .*, got "\$\{TOKEN\}"$/])
  t.match(toProblems(`workers: \${EMPTY:-many}\n`), [/got "many"|got "\$\{EMPTY\}"/])
  t.match(toProblems(`trusted_proxies: \${HOSTS}\n`), [/got "\$\{HOSTS\}"/])
  t.match(toProblems(`routes: [{ redirect: { host: a, status: "\${TOKEN}" } }]\n`), [
    /got \$\{TOKEN\}$/,
  ])
  t.end()
})

function writeFiles(t: Test): string {
  const folder = makeTempFolder(t, 'references')
  mkdirSync(join(folder, 'run'))
  writeFileSync(join(folder, 'run', 'token'), 'from a file\n')
  writeFileSync(join(folder, 'run', 'lines'), 'a\nb\r\n\r\n')
  writeFileSync(join(folder, 'run', 'long'), 'x'.repeat(65_537))
  writeFileSync(join(folder, 'run', 'binary'), Buffer.from([0xff, 0xfe]))
  return folder
}

t.test('reads files relative to the folder of the file, without the last line end', (t) => {
  const folder = writeFiles(t)
  const file = join(folder, 'mx.yaml')
  const body = (reference: string): unknown => {
    const { routes, references } = parse(`routes: [{ respond: { body: "${reference}" } }]`, file)
    t.same(references.files, [join(folder, 'run', reference.includes('lines') ? 'lines' : 'token')])
    const { action } = routes[0]!
    return action.kind === 'respond' && action.body
  }
  t.equal(body(`\${file:run/token}`), 'from a file')
  t.equal(body(`<\${file:${folder}/run/token}>`), '<from a file>')
  t.equal(body(`\${file:./run/lines}`), 'a\nb\r\n')
  t.end()
})

t.test('rejects files that are long, binary, folders or devices', (t) => {
  const file = join(writeFiles(t), 'mx.yaml')
  const reasons = {
    'run/long': 'it is larger than 64 KiB',
    'run/binary': 'it is not UTF-8 text',
    run: 'it is not a file',
    '/dev/zero': 'it is not a file',
  }
  for (const [name, reason] of Object.entries(reasons))
    t.match(toProblems(`address: "\${file:${name}}"\n`, file), [
      `cannot read file ${name}: ${reason}`,
    ])
  t.end()
})
