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

t.test('names the invalid key', async (t) => {
  const refuse = (text: string, message: RegExp) =>
    t.throws(() => parseProjectFile(text), { code: 400, message }, text)
  refuse('comand: x', /^mx\.yaml: unknown key comand; did you mean command\?/)
  refuse('routing: {}', /unknown key routing; expected one of command, build, env, instances/)
  refuse('a: b: c', /^mx\.yaml: .* at line 1, column 4/)
  refuse('- a', /^mx\.yaml: it must be a map/)
  refuse('command: {}', /command must be a string or a list of strings, got \{\}/)
  refuse('command: []', /command must be a string or a list of strings, got \[\]/)
  refuse('build: ""', /build must be a string/)
  refuse('instances: 0', /instances must be a whole number from 1 to 1000, got 0/)
  refuse('instances: two', /instances must be/)
  refuse('port: 70000', /port must be a whole number from 1 to 65535/)
  refuse('protocol: grpc', /protocol must be mx or http, got "grpc"/)
  refuse('env: [A=1]', /env must be a map/)
  refuse('env: {A: {B: 1}}', /env\.A must be a scalar/)
  refuse('env: {"A=B": 1}', /env must be names of environment variables, got "A=B"/)
  refuse('resources: {memory: much}', /resources\.memory must be a size such as/)
  refuse('resources: {memory: none}', /resources\.memory must be a size such as 256mb, got "none"/)
  refuse('resources: {cpus: -1}', /resources\.cpus must be a number of cores/)
  refuse('resources: {cpu: 1}', /unknown key cpu; did you mean cpus\?/)
})
