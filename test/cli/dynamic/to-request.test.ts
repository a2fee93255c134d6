import t from 'tap'
import { toFields } from '../../../cli/dynamic/fields.ts'
import { readFlags } from '../../../cli/dynamic/read-flags.ts'
import { toRequest } from '../../../cli/dynamic/to-request.ts'
import { RawJson } from '../../../core/request/json/written-json.ts'
import { DESCRIBED } from '../../fixtures/described-endpoint.ts'

const FIELDS = toFields(DESCRIBED)

function build(json: unknown, ...flags: string[]): Promise<unknown> {
  const { fields } = readFlags(flags, FIELDS, 'mirror show')
  return toRequest(json, fields, FIELDS, 'mirror show')
}

t.test('nested flags build nested messages and override the --json request', async (t) => {
  t.same(await build({}, '--name=a', '--options.domain=x', '--options_max_age=0x10'), {
    name: 'a',
    options: { domain: 'x', max_age: 16 },
  })
  t.same(await build({ name: 'a', options: { domain: 'x' } }, '--name=b', '--options_max_age=1'), {
    name: 'b',
    options: { domain: 'x', max_age: 1 },
  })
  t.same(await build({}, '--options_max_age=1', '--options={"domain":"x"}', '--name=a'), {
    name: 'a',
    options: { domain: 'x', max_age: 1 },
  })
})

t.test('rejects a request without its required fields, naming their flags', async (t) => {
  const hint = "See 'mx mirror show --help'"
  await t.rejects(build({}, '--count=1'), {
    message: `--name (string: Name of the owner) is required. ${hint}`,
    status: 2,
  })
  await t.rejects(build({}, '--options_max_age=1'), {
    message: `--name (string: Name of the owner), --options_domain (string) are required. ${hint}`,
  })
})

t.test('rejects field flags with a --json request that is not an object', async (t) => {
  await t.rejects(build([1], '--name=a'), {
    message: /the request of --json must be a JSON object/,
  })
  await t.rejects(build({ options: 5 }, '--options_max_age=1'), {
    message: '--options must be a JSON object to combine it with field flags',
  })
})

t.test('integers that a JSON number would round are rejected before they are sent', async (t) => {
  const range = 'must be an integer, from -9007199254740991 to 9007199254740991'
  for (const flag of ['--count', '--ids', '--options_max_age'])
    await t.rejects(build({}, '--name=a', '--options_domain=x', `${flag}=9007199254740993`), {
      message: `${flag} ${range}, got "9007199254740993"`,
      status: 2,
    })
  const numberFlags = [
    '--count=-9007199254740991',
    '--ids=1,9007199254740991',
    '--big=9223372036854775807',
  ]
  t.match(await build({}, '--name=a', ...numberFlags), {
    count: -9007199254740991,
    ids: [1, 9007199254740991],
    big: new RawJson('9223372036854775807'),
  })
})
