import t from 'tap'
import { parseProjectFile } from '../../../../services/runtime/builds/project-file.ts'

t.test('parses all settings of mx.yaml', async (t) => {
  t.strictSame(parseProjectFile(''), {})
  t.strictSame(parseProjectFile('# nothing\n'), {})
  t.strictSame(parseProjectFile('command: node main.js\nbuild: make'), {
    command: ['node', 'main.js'],
    build: ['make'],
  })
  t.strictSame(parseProjectFile('command: echo $HOME'), {
    command: ['/bin/sh', '-c', 'echo $HOME'],
  })
  t.strictSame(parseProjectFile('command: [serve, 80]\nbuild: [a, b]'), {
    command: ['serve', '80'],
    build: ['a', 'b'],
  })
  t.strictSame(parseProjectFile('env: {A: 1, B: true, C: x}\nresources: {memory: 1gb, cpus: 2}'), {
    env: { A: '1', B: 'true', C: 'x' },
    resources: { memoryBytes: 1024 ** 3, cpus: 2 },
  })
  t.strictSame(parseProjectFile('protocol: http\nport: 80\ninstances: 3'), {
    protocol: 'http',
    port: 80,
    instances: 3,
  })
})

t.test('reports the invalid key', async (t) => {
  const expectRejected = (text: string, message: RegExp) =>
    t.throws(() => parseProjectFile(text), { code: 400, message }, text)
  expectRejected('comand: x', /^mx\.yaml: unknown key comand; did you mean command\?/)
  expectRejected(
    'routing: {}',
    /unknown key routing; expected one of command, build, env, instances/,
  )
  expectRejected('a: b: c', /^mx\.yaml: .* at line 1, column 4/)
  expectRejected('- a', /^mx\.yaml: it must be a map/)
  expectRejected('command: {}', /command must be a string or a list of strings, got \{\}/)
  expectRejected('command: []', /command must be a string or a list of strings, got \[\]/)
  expectRejected('build: ""', /build must be a string/)
  expectRejected('instances: 0', /instances must be a whole number from 1 to 1000, got 0/)
  expectRejected('instances: two', /instances must be/)
  expectRejected('port: 70000', /port must be a whole number from 1 to 65535/)
  expectRejected('protocol: grpc', /protocol must be mx or http, got "grpc"/)
  expectRejected('env: [A=1]', /env must be a map/)
  expectRejected('env: {A: {B: 1}}', /env\.A must be a scalar/)
  expectRejected('env: {"A=B": 1}', /env must be names of environment variables, got "A=B"/)
  expectRejected('resources: {memory: much}', /resources\.memory must be a size such as/)
  expectRejected(
    'resources: {memory: none}',
    /resources\.memory must be a size such as 256mb, got "none"/,
  )
  expectRejected('resources: {cpus: -1}', /resources\.cpus must be a number of cores/)
  expectRejected('resources: {cpu: 1}', /unknown key cpu; did you mean cpus\?/)
})
