import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import configCommand from '../../../../cli/commands/platform/config.ts'
import { openCliServer } from '../../../fixtures/cli-server.ts'
import { runAtTerminal } from '../../../fixtures/terminal.ts'

const { home, env, run, mx } = await openCliServer(t)
const config = (...args: string[]) => run(configCommand, ...args)
const get = (...args: string[]) => config('get', ...args)

t.test('get prints a string without quotes, other values as JSON', async (t) => {
  t.equal(await config('set', 'a.greeting', 'Hello'), '', 'no output without a terminal')
  t.equal(await get('a.greeting'), 'Hello\n')
  const result = JSON.parse(await config('set', 'a.n', '-5', '-o', 'json'))
  t.match(result, { path: 'a.n', version: Number })
  await config('set', 'a.id', '9007199254740993')
  await config('set', 'a.on', 'true')
  t.equal(await get('a'), '{"greeting":"Hello","n":-5,"id":9007199254740993,"on":true}\n')
  t.equal(await get('a.greeting', '-o', 'json'), '"Hello"\n')
  t.equal(await get('a.id', '-o', 'json'), '9007199254740993\n')
  const yaml = 'greeting: Hello\nn: -5\nid: 9007199254740993\non: true\n'
  t.equal(await get('a', '-o', 'yaml'), yaml)
})

t.test('an object is merged with the stored object', async (t) => {
  await config('set', 'v', '{"a":1,"b":{"b1":2},"c":3}')
  await config('set', 'v', '{"d":4,"b":{"b2":2.2}}')
  t.equal(await get('v'), '{"a":1,"b":{"b1":2,"b2":2.2},"c":3,"d":4}\n')
})

t.test('a secret is read from standard input, and shown only with --secret', async (t) => {
  const args = ['config', 'set', '--secret', 's.password', '-']
  t.same(await mx(args, 'hunter2\n'), { code: 0, stdout: '', stderr: '' })
  t.equal(await get('s.password'), '[secret]\n')
  t.equal(await get('s', '--secret'), '{"password":"hunter2"}\n')
})

t.test('a value is read from a UTF-8 file', async (t) => {
  writeFileSync(join(home, 'text'), 'two\nlines\n')
  await config('set', 'in.text', '@text')
  t.equal(await get('in.text'), 'two\nlines\n')
  await config('set', 'in.every', '@@daily')
  t.equal(await get('in.every'), '@daily\n')
  writeFileSync(join(home, 'bytes'), Buffer.from([0xff]))
  await t.rejects(config('set', 'in.text', '@bytes'), {
    message: 'VALUE must be UTF-8',
    status: 2,
  })
})

t.test('without a value, set prompts at a terminal, without echo for a secret', async (t) => {
  t.match(await mx(['config', 'set', 'prompted']), {
    code: 2,
    stderr: 'mx: VALUE is required without a terminal\n',
  })
  const output = await runAtTerminal(t, ['config', 'set', '--secret', 'prompted'], {
    ...{ cwd: home, env, question: 'Enter value: ', answer: 'hush' },
  })
  if (output === undefined) return t.comment('script is not installed')
  t.match(output, 'prompted was set')
  t.notMatch(output, 'hush')
  t.equal(await get('prompted', '--secret'), 'hush\n')
})

t.test('a missing value is reported on standard error with status 1', async (t) => {
  t.same(await mx(['config', 'get', 'a.nothing']), {
    code: 1,
    stdout: '',
    stderr: 'mx: not found: a.nothing\n',
  })
  await t.rejects(get('x', '--namespace=missing'), {
    message: 'not found: missing has no configuration',
    status: 1,
  })
})

t.test('del deletes a value or subtree; all values only with --all', async (t) => {
  await config('set', 'gone', '{"x":1,"y":{"z":2}}')
  await config('del', 'gone.y')
  t.equal(await get('gone'), '{"x":1}\n')
  await t.rejects(config('del', ''), { message: /^a path or --all is required/, status: 2 })
  await t.rejects(config('del', 'gone', '--all'), {
    message: /--all cannot be combined with gone/,
    status: 2,
  })
  t.equal(await config('del', 'gone'), '')
  await t.rejects(get('gone'), { message: 'not found: gone' })
  await config('set', 'left', '1', '--namespace=acme')
  await config('del', '--all', '--namespace=acme')
  t.equal(await config('list', '--namespace=acme'), '')
})

t.test('list prints paths and marks secrets', async (t) => {
  t.equal(await config('list', 's'), 's.password\n')
  t.match(await config('list'), /^a\.greeting\n/)
  t.equal(await config('list', 's', '-v'), 'PATH\t\tSECRET\ns.password\tyes\n')
  const entries = [{ path: 's.password', secret: true }]
  t.same(JSON.parse(await config('list', 's', '-o', 'json')), entries)
})

t.test('history lists versions, which can be read and rolled back', async (t) => {
  await config('set', 'h', 'old')
  const [headings, row = ''] = (await config('history')).split('\n')
  t.match(headings, /^VERSION\tTIME\t+ACCOUNT\tACTION\tSECRET\tPATH$/)
  const [version = '', time, ...events] = row.split(/\t+/)
  t.same(events, ['admin', 'set', 'no', 'h'])
  t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  await config('set', 'h', 'new')
  t.equal(await get('h', '--version', version), 'old\n')
  t.equal(await config('rollback', version), '')
  t.equal(await get('h'), 'old\n')
  const [last] = JSON.parse(await config('history', '-o', 'json'))
  t.match(last, { action: 'rollback', account: 'admin' })
  await t.rejects(config('rollback', '4711'), { message: /4711/, status: 1 })
  await t.rejects(config('rollback', 'first'), {
    message: "Invalid version: first, must be one of 'mx config history'",
    status: 2,
  })
})

t.test('get --all prints the complete configuration, with secrets masked', async (t) => {
  await t.rejects(get(), { message: /^a path or --all is required/ })
  const all = JSON.parse(await get('--all'))
  t.match(all, { a: { greeting: 'Hello' }, s: { password: '[secret]' } })
})
