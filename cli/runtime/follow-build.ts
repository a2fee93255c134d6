import type { Session } from '../session/session.ts'

/** Streams the output of an object's last build, until the build ends. */
export async function* followBuild(
  { stream, namespace }: Session,
  { name, version }: { readonly name: string; readonly version: string },
): AsyncGenerator<string, void, undefined> {
  const request = { service: { name, version }, options: { namespace } }
  const decoder = new TextDecoder()
  for await (const { data } of stream<{ data: string }>('runtime', 'Build.Read', request))
    yield decoder.decode(Buffer.from(data, 'base64'), { stream: true })
}
