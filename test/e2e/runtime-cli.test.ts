// The commands mx run, update, logs, status and kill with a real server and local programs and repositories.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import loginCommand from '../../cli/commands/account/login.ts'
import killCommand from '../../cli/commands/runtime/kill.ts'
import logsCommand from '../../cli/commands/runtime/logs.ts'
import runCommand from '../../cli/commands/runtime/run.ts'
import statusCommand from '../../cli/commands/runtime/status.ts'
import updateCommand from '../../cli/commands/runtime/update.ts'
import { startServerProcess } from '../fixtures/server-process.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.setTimeout(180_000)

const home = makeTempFolder(t, 'home')
const server = await startServerProcess(t, [], { home })
process.env['HOME'] = home
process.env['MX_ENV_LOCAL_ADDRESS'] = server.proxy
const work = makeTempFolder(t, 'work')
process.chdir(work)
const password = readFileSync(join(home, '.mx/admin_password'), 'utf8').trim()
await read(t, () => loginCommand.run(['admin', `--password=${password}`]))

const run = (...args: string[]) => runCommand.run(args)
const update = (...args: string[]) => updateCommand.run(args)
const kill = (...args: string[]) => killCommand.run(args)

async function read(t: Test, run: () => Promise<void>): Promise<string> {
  const written = t.capture(process.stdout, 'write', () => true)
  try {
    await run()
  } finally {
    written.restore()
  }
  return written()
    .map(({ args }) => String(args[0]))
    .join('')
}
const status = (t: Test, ...args: string[]) => read(t, () => statusCommand.run(args))
const logs = (t: Test, ...words: string[]) => read(t, () => logsCommand.run(words))

/** A program that returns a text at `GET /`, and logs it. */
function toProgram(text: string): string {
  return `const http = require('node:http')
console.log('${text} starts')
http.createServer((_, reply) => reply.end('${text}')).listen(process.env.PORT, '127.0.0.1')
`
}

function writeProgram(folder: string, text: string): void {
  mkdirSync(join(work, folder), { recursive: true })
  writeFileSync(join(work, folder, 'main.js'), text)
  writeFileSync(join(work, folder, 'mx.yaml'), 'protocol: http\n')
}

t.test('runs a folder, calls, updates, shows and kills it', async (t) => {
  writeProgram('page', toProgram('one'))
  await run('./page')
  t.match(
    await status(t),
    /^NAME.*\npage\s+latest\s+\/\S+\/page\s+running\s+[0-9a-f]{7}\s+\d+s ago\s+owner=/,
  )
  t.match(await logs(t, 'page'), /^one starts\n/)
  await t.rejects(run('./page'), { message: /^already exists: page@latest\. / })

  writeProgram('page', toProgram('two'))
  await update('page')
  t.match(await logs(t, 'page', '-n1'), 'two starts\n')

  writeProgram('page', "console.log('no'); throw new Error('broken')\n")
  await t.rejects(update('./page'), {
    message: /^the update of page failed, the previous build keeps running: /,
  })
  t.match(await status(t, 'page'), /\trunning\t.*error=/)

  await update('page', '--rollback')
  t.notMatch(await status(t, 'page'), 'error=')
  await kill('page')
  t.equal(await status(t), '')
  await t.rejects(logs(t, 'page'), { message: /^Logs not found for service page/ })
})

t.test('runs a repository by its address and updates it to the newest commit', async (t) => {
  const git = (...words: string[]) =>
    execFileSync('git', [
      '-C',
      join(work, 'site'),
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      ...words,
    ])
  writeProgram('site', toProgram('first'))
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'first')
  const address = `file://${join(work, 'site')}`
  await run(`${address}@main`)
  t.match(await status(t), /\nsite\tmain\t/)
  await t.rejects(run(`${address}@nowhere`, '--name=other'), { message: /nowhere/ })
  await kill('other')

  writeProgram('site', toProgram('second'))
  git('commit', '-qam', 'second')
  await update('site')
  t.match(await logs(t, 'site', '-n1'), 'second starts\n')
  await kill('site')
})

t.test('reports a failed build or fetch in one message', async (t) => {
  mkdirSync(join(work, 'text'))
  writeFileSync(join(work, 'text', 'readme.txt'), '')
  await t.rejects(run('./text'), {
    message: /^text failed: nothing to run in the folder/,
    status: 1,
  })
  await t.rejects(run('file:///nowhere/at/all'), { message: /nowhere\/at\/all/ })
  t.match(await status(t, 'text'), /\terror\t/)
  await kill('text')
})
