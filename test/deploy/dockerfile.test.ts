import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { validate } from 'dockerfile-utils'
import t from 'tap'
import { SETTINGS } from '../../platform/settings/settings.ts'
import { ROOT } from '../../scripts/root.ts'

const TEXT = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
/** Joins continued lines. */
const INSTRUCTIONS = TEXT.replaceAll(/^#.*\n/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line !== '')
const LAST = INSTRUCTIONS.slice(INSTRUCTIONS.findLastIndex((line) => line.startsWith('FROM ')))

const find = (name: string): string =>
  LAST.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1) ?? ''

t.test('the Dockerfile passes the linter', async (t) => {
  t.same(
    validate(TEXT).map(({ message, range }) => `${range.start.line + 1}: ${message}`),
    [],
  )
  t.not(validate('FROM node\nCOPPY a b\n').length, 0, 'it detects an existing error')
})

t.test('the image starts the server with a numeric user other than root', async (t) => {
  t.match(find('USER'), /^[1-9]\d*:[1-9]\d*$/)
  t.equal(find('ENTRYPOINT'), '["mx"]')
  t.equal(find('CMD'), '["server"]')
})

t.test('the health check uses the liveness probe of the admin address', async (t) => {
  const { host, port } = SETTINGS.adminAddress.parse([SETTINGS.adminAddress.default])!
  t.ok(find('HEALTHCHECK').includes(`http://${host}:${port}/livez`))
})

t.test('every MX variable in the image belongs to a setting', async (t) => {
  const names = new Set(Object.values(SETTINGS).map(({ name }) => `MX_${name.toUpperCase()}`))
  const variables = [...find('ENV').matchAll(/MX_\w+/g)].map(([name]) => name)
  t.not(variables.length, 0)
  t.same(
    variables.filter((name) => !names.has(name)),
    [],
  )
})

t.test('every copied path exists and is part of the build context', async (t) => {
  const ignored = readFileSync(join(ROOT, '.dockerignore'), 'utf8').split('\n')
  const sources = INSTRUCTIONS.filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(' ').slice(1, -1))
    .filter((source) => source !== '.')
  t.not(sources.length, 0)
  for (const source of sources) {
    t.ok(existsSync(join(ROOT, source)), source)
    t.notOk(ignored.includes(source), `${source} is not ignored`)
  }
  for (const secret of ['**/*.pem', '**/*.key', '**/.env*', '.*']) t.ok(ignored.includes(secret))
})
