import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Badge } from '../components/badge.tsx'
import { Tree, type TreeNode } from '../components/tree/tree.tsx'
import { type ConfigNode, isSecret, joinPath } from './tree.ts'

export interface ConfigTreeProps {
  readonly root: ConfigNode
  /** Path. */
  readonly selected: string
  readonly onSelect: (path: string) => void
}

/** Characters of a value that stand beside its name. */
const SHOWN = 40

/** The configuration of a namespace, secrets hidden. */
export function ConfigTree({ root, selected, onSelect }: ConfigTreeProps): JSX.Element {
  const nodes = useMemo(() => toTreeNodes(root, ''), [root])
  return (
    <Tree label="Configuration" nodes={nodes} selected={selected} onSelect={onSelect} open={2} />
  )
}

function toTreeNodes(node: ConfigNode, path: string): readonly TreeNode[] {
  if (node.kind === 'value') return []
  return [...node.children].map(([name, child]) => {
    const id = joinPath(path, name)
    if (child.kind === 'map') return { id, label: name, children: toTreeNodes(child, id) }
    return { id, label: name, detail: isSecret(child) ? <Badge>secret</Badge> : cut(child.text) }
  })
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
}
