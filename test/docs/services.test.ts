import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { ROOT } from '../../scripts/root.ts'
import { checkTypes, makeProject, TYPESCRIPT } from '../fixtures/compiler.ts'
import { startMx } from '../fixtures/mx.ts'
import { toModule } from '../fixtures/programs.ts'
import { skipUnless } from '../fixtures/servers.ts'

/** The module that programs import as `mx`; compiled, it has its types next to it, as in the package. */
const SDK = toModule(new URL('../../sdk/index.ts', import.meta.url))
const TSX = import.meta.resolve('tsx')
const PAGES = [
  'docs/services.md',
  'docs/service-reference.md',
  'docs/http-calls.md',
  'docs/clients.md',
  'docs/other-languages.md',
]
const GUIDE = (await Promise.all(PAGES.map((page) => readFile(join(ROOT, page), 'utf8')))).join(
  '\n',
)

/** A code block of the guide. */
interface Block {
  /** Empty for the output of a program. */
  readonly language: string
  readonly text: string
  /** File name, taken from the text above the block. */
  readonly file: string
}

const BLOCKS: readonly Block[] = [
  ...GUIDE.matchAll(/((?:[^\n]+\n)*)\n```(\w*)\n([\s\S]*?)```/g),
].map(([, args = '', language = '', text = ''], i) => {
  const file = /`([\w-]+\.(?:ts|py))`[^`]*:/.exec(args)?.[1]
  return { language, text, file: file ?? `block-${i}.ts` }
})
const PROGRAMS = BLOCKS.filter(({ language }) => language === 'ts')

t.test('the programs of the guides compile with the compiler options of the guides', async (t) => {
  const folder = t.testdir(Object.fromEntries(PROGRAMS.map(({ file, text }) => [file, text])))
  const config = JSON.parse(BLOCKS.find(({ language }) => language === 'json')!.text)
  const messages = await checkTypes(makeProject(folder, config.compilerOptions))
  t.strictSame(messages, [])
  t.equal(PROGRAMS.length, 8)
})

t.test('commands and programs of the guides print the documented output', async (t) => {
  const [curl, python] = ['curl', 'python3'].map((name) => skipUnless(t, name))
  if (curl === undefined || python === undefined) return
  const reader = new Reader(t, python)
  for (const [i, block] of BLOCKS.entries()) {
    if (block.language === 'sh') await reader.runLines(block.text)
    else if (block.language === 'js') await reader.runPage(block)
    else if (block.language === 'ts' && BLOCKS[i + 1]?.language === '')
      await reader.runProgram(block, BLOCKS[i + 1]!.text)
    else if (block.text.includes('node:assert')) await reader.runProgram(block, '')
  }
  t.ok(reader.commands >= 15, `${reader.commands} commands`)
})

/** Follows the guide as a reader would. */
class Reader {
  commands = 0
  readonly #t: Test
  readonly #python: string
  /** Ports of this run by ports of the guide. */
  readonly #ports = new Map<string, string>()
  readonly #folder: string
  #folders = 0
  #gateway: ChildProcess | undefined = undefined

  constructor(t: Test, python: string) {
    this.#t = t
    this.#folder = t.testdir({})
    this.#python = python
  }

  /** Runs the commands; comments below a command are its expected output. */
  async runLines(text: string): Promise<void> {
    const lines = text.trimEnd().split('\n')
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i]!
      const [command] = line.split(' ')
      const printed: string[] = []
      while (lines[i + 1]?.startsWith('#')) printed.push(lines[++i]!.slice(2))
      this.commands++
      if (command === 'mkdir' || command === 'npm') await this.#prepare(line)
      else if (command === 'curl') await this.#runCurl(line, printed)
      else if (command === 'python3') await this.#startPython(line)
      else if (line.startsWith('npx mx api ')) await this.#startGateway(line)
      else if (command!.startsWith('MX_SERVICE_ADDRESS=')) await this.#startService(line)
      else this.#t.fail(`unknown command: ${line}`)
    }
  }

  async runProgram({ file }: Block, printed: string): Promise<void> {
    const child = this.#spawn(process.execPath, ['--import', TSX, file], {})
    let output = ''
    child.stdout!.on('data', (chunk) => {
      output += chunk
    })
    const [code] = await once(child, 'close')
    this.#t.equal(output, printed, `${file} prints the output in the guide`)
    this.#t.equal(code, 0)
  }

  /** Runs the script of a web page until its WebSocket is closed. */
  async runPage({ text }: Block): Promise<void> {
    const output: string[] = []
    const sockets: WebSocket[] = []
    class PageSocket extends WebSocket {
      constructor(url: string) {
        super(url)
        sockets.push(this)
      }
    }
    const console = { log: (line: string) => output.push(line) }
    new Function('WebSocket', 'console', this.#withPorts(text))(PageSocket, console)
    await once(sockets[0]!, 'close')
    const printed = [...text.matchAll(/^\/\/ (.*)$/gm)].map(([, line]) => line)
    this.#t.strictSame(output, printed, 'the page prints the output in the guide')
  }

  /** Creates the folder as the guide does; its packages come from this checkout. */
  async #prepare(line: string): Promise<void> {
    const mx = ROOT
    if (line.startsWith('npm install ')) {
      const names = ['tsx', 'typescript', '@types/node']
      this.#t.equal(line, `npm install ${names.join(' ')} <path of your checkout of mx>`)
      const installed = names.map((name) => {
        const folder = name === 'typescript' ? TYPESCRIPT : join(ROOT, 'node_modules', name)
        return [name, folder] as const
      })
      for (const [name, folder] of [['mx-gateway', mx] as const, ...installed]) {
        const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
        this.#t.equal(manifest.name, name, `${folder} contains the package ${name}`)
      }
      const { exports, bin } = JSON.parse(await readFile(join(mx, 'package.json'), 'utf8'))
      this.#t.ok(exports['.'] && bin.mx, 'the package exports a module and the program mx')
      return
    }
    const cwd = join(this.#folder, line.startsWith('mkdir ') ? '.' : 'helloworld')
    await new Promise<void>((resolve, reject) => {
      execFile('sh', ['-ec', line], { cwd }, (error) =>
        error === null ? resolve() : reject(error),
      )
    })
    if (!line.startsWith('npm ')) return
    const packageJson = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'))
    this.#t.equal(packageJson.type, 'module', 'programs may use top-level await')
  }

  async #runCurl(line: string, printed: string[]): Promise<void> {
    const command = this.#withPorts(line).replace('curl', 'curl -sS --max-time 30')
    const stdout = await new Promise<string>((resolve, reject) => {
      execFile('sh', ['-c', command], (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      )
    })
    this.#t.equal(stdout.trimEnd(), printed.join('\n').trimEnd(), line)
  }

  async #startService(line: string): Promise<void> {
    const [, port, file] = /^MX_SERVICE_ADDRESS=127\.0\.0\.1:(\d+) npx tsx (\S+)$/.exec(line)!
    const env = { MX_SERVICE_ADDRESS: '127.0.0.1:0' }
    const child = this.#spawn(process.execPath, ['--import', TSX, file!], env)
    for await (const entry of createInterface(child.stderr!)) {
      const { msg, address = '' } = JSON.parse(entry) as Record<string, string>
      if (msg !== 'service ready') continue
      this.#ports.set(port!, address.slice(address.indexOf(':') + 1))
      return
    }
    this.#t.fail(`${file} did not start`)
  }

  async #startPython(line: string): Promise<void> {
    const [, file, port] = line.split(' ')
    const child = this.#spawn(this.#python, ['-W', 'error', file!, '0'], {})
    for await (const outputLine of createInterface(child.stdout!)) {
      this.#ports.set(port!, outputLine.slice(outputLine.lastIndexOf(' ') + 1))
      return
    }
    this.#t.fail(`${file} did not start`)
  }

  async #startGateway(line: string): Promise<void> {
    await this.#end(this.#gateway)
    const args = this.#withPorts(line).split(' ').slice(2)
    const mx = startMx([...args, '--address', '127.0.0.1:0'], { cwd: this.#write() })
    this.#t.teardown(() => this.#end(mx.child))
    this.#gateway = mx.child
    this.#ports.set('8080', new URL(await mx.url()).port)
  }

  #spawn(program: string, args: string[], env: Record<string, string>): ChildProcess {
    const child = spawn(program, args, { cwd: this.#write(), env: { ...process.env, ...env } })
    this.#t.teardown(() => this.#end(child))
    return child
  }

  async #end(child: ChildProcess | undefined): Promise<void> {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }

  /** Returns a folder with the programs of the guide, with the addresses of the running services. */
  #write(): string {
    const folder = join(this.#folder, String(this.#folders++))
    mkdirSync(folder)
    const sdk = `'${SDK.href}'`
    for (const { language, file, text } of BLOCKS) {
      if (language !== 'ts' && language !== 'python') continue
      writeFileSync(join(folder, file), this.#withPorts(text).replaceAll("'mx'", sdk))
    }
    return folder
  }

  #withPorts(text: string): string {
    return text.replace(/(localhost|127\.0\.0\.1):(\d+)/g, (address, _host, port: string) => {
      const freePort = this.#ports.get(port)
      return freePort === undefined ? address : `127.0.0.1:${freePort}`
    })
  }
}
