// A second opinion on the Bicep files: parses them with tree-sitter's grammar, which is
// nothing of ours, and compares what they declare with what our parser found.
//
//   node verify.js <directory the paths are relative to> < declarations
//
// On standard input is what "check -declarations" prints. The exit status is 1 if a file
// does not parse, or declares something else.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { Language, Parser } from 'web-tree-sitter'

const require = createRequire(import.meta.url)
const problems = []

await Parser.init()
const parser = new Parser()
parser.setLanguage(await Language.load(require.resolve('tree-sitter-bicep/tree-sitter-bicep.wasm')))

const root = process.argv[2]
const expected = JSON.parse(readFileSync(0, 'utf8'))
for (const [file, declared] of Object.entries(expected)) {
  const tree = parser.parse(readFileSync(join(root, file), 'utf8'))
  broken(file, tree.rootNode)
  compare(file, declared, declarations(tree.rootNode))
}
for (const problem of problems) console.log(problem)
console.log(`second opinion: ${problems.length} differences in ${Object.keys(expected).length} files`)
process.exit(problems.length > 0 || Object.keys(expected).length === 0 ? 1 : 0)

// broken reports what the grammar could not read.
function broken(file, node) {
  if (node.isError || node.isMissing) {
    const { row, column } = node.startPosition
    problems.push(`${file}:${row + 1}:${column + 1}: second-opinion: ${node.isMissing ? 'missing ' + node.type : 'cannot be parsed'}`)
    return
  }
  if (node.hasError) node.children.forEach((child) => broken(file, child))
}

// declarations are the names that a file declares, in the form of "check -declarations".
function declarations(rootNode) {
  const found = { parameters: [], variables: [], resources: {}, modules: {}, outputs: [] }
  for (const node of rootNode.namedChildren) {
    const name = node.namedChildren.find((child) => child.type === 'identifier')?.text
    const text = node.namedChildren.find((child) => child.type === 'string')?.text.slice(1, -1)
    switch (node.type) {
      case 'parameter_declaration': found.parameters.push(name); break
      case 'variable_declaration': found.variables.push(name); break
      case 'output_declaration': found.outputs.push(name); break
      case 'resource_declaration': found.resources[name] = text; break
      case 'module_declaration': found.modules[name] = text; break
    }
  }
  return found
}

function compare(file, ours, theirs) {
  for (const kind of Object.keys(ours)) {
    const text = (value) => JSON.stringify(Array.isArray(value) ? value : Object.entries(value).sort())
    if (text(ours[kind]) !== text(theirs[kind])) {
      problems.push(`${file}:1:1: second-opinion: ${kind}: here ${text(ours[kind])}, there ${text(theirs[kind])}`)
    }
  }
}
