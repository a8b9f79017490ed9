package models

import "edge/internal/digest"

// engineRelease is the tag of llama.cpp that all of these packages were built from.
const engineRelease = "v0.4.0"

// Releases is the table of engines that setup can fetch, one per platform. The digests were computed from the packages
// whose integrity stands beside them; docs/setup.md says how to do it again. libllama-common, the Node.js addon and
// import libraries are left out: nothing here opens them.
func Releases() []Release {
	return []Release{
		{
			Platform: "linux-x64", OS: "linux", Arch: "amd64", Engine: engineRelease,
			Package: "@node-llama-cpp/linux-x64", Version: "3.21.1", Size: 10582760,
			Integrity: "sha512-Totj6RTDMGo3FoK2yNUaz/oGmZD0olAqTrRluFUWmu0kW2i9TOzHSW0OWCAiGkzRCVX0WsU2CyUQo/W2NYtdPA==",
			Libraries: []Library{
				lib("libggml-base.so", 919744, "1eba024559799447e34687e12b6794e79ad3768a1b3d2cbca9fadc829f0f85c7"),
				lib("libggml-cpu-alderlake.so", 1195784, "9855c4a776fe65b907eb3a2552f69d49bad692f9bd09709d0ee09773f3ed1cd9"),
				lib("libggml-cpu-cannonlake.so", 1336672, "3e6b749e7f49d4a713a92156d25d7678163d46e8083ac63535c9499611fb2516"),
				lib("libggml-cpu-cascadelake.so", 1332576, "a1ebbca4d2eef11b8e4b57e43b7a431bddb7e0a28a1c50b7183d053a69d60c81"),
				lib("libggml-cpu-cooperlake.so", 1332640, "34f03e1df8c7076cff77e4512f8e6a6e2b613a779ef6560b58eaf65f8721e695"),
				lib("libggml-cpu-haswell.so", 1199880, "e515aa4e0ea19c7bca544536db03b17ca6ad4ee24d8bf5dd9ea6f9c18bb9e135"),
				lib("libggml-cpu-icelake.so", 1332576, "3e083fe7d5eaef3f2426b80aa50639484ce8b0ade2b9f8d16fc1321456761b91"),
				lib("libggml-cpu-ivybridge.so", 1153376, "4d3f861530b860f39e7a4856d42ae9134def255ef201078f890ae75e1b27cbfe"),
				lib("libggml-cpu-piledriver.so", 1149280, "d23438b7bcc20dd0fc25ad82feb2bd9bc354cbd225a1c1ec6009d8ec142faaaa"),
				lib("libggml-cpu-sandybridge.so", 1144064, "486aa8a2c058387f0019e00931175d0b1b0a3b023cae3604427442506b3231ac"),
				lib("libggml-cpu-sapphirerapids.so", 1637104, "1a9d8718e725c19bd2e9a2c58286c2164572a00eff397cc3a746c76e7e2fe364"),
				lib("libggml-cpu-skylakex.so", 1336672, "74d65c3926a1914588332d9bc7583f8a29666ff06ee34605604d2759b65f03f8"),
				lib("libggml-cpu-sse42.so", 948968, "dc2ad4e366258cb8e94ab5923c0febcba81136a1b6a91ae08d8382764459bb2e"),
				lib("libggml-cpu-x64.so", 940944, "bd2de057baaf343ec9fdabf2623de97f1f29aff7a8bd6e9b25f291f8af699bd0"),
				lib("libggml-cpu-zen4.so", 1332640, "d101750f42c2ebc68ec4423645c7f167c6b84834743776f2074297a146924699"),
				lib("libggml.v0.4.0.so", 55184, "a8810737479e61c0131576a7a7b8d6ee09b1c161055065ba0579f671da7eb04c"),
				lib("libllama.v0.4.0.so", 4564112, "a1e1a2f1d1261070e33f25eca89700cfcf4b824f6a4113e9bc111c17aefcb52f"),
			},
			Aliases: []Alias{{"libggml.so", "libggml.v0.4.0.so"}, {"libllama.so", "libllama.v0.4.0.so"}},
		},
		{
			Platform: "linux-arm64", OS: "linux", Arch: "arm64", Engine: engineRelease,
			Package: "@node-llama-cpp/linux-arm64", Version: "3.21.1", Size: 7213055,
			Integrity: "sha512-eI3anSEGzJiwF2rpMpZVTdHzw47LztbvfvuRzlu/fPO18ROnBOd+75RPUBlV6qENPpmNtbov85+3VODwEwBurg==",
			Libraries: []Library{
				lib("libggml-base.so", 951944, "5f02f4baf1660fce8f607693694eb644035caf7e5bc33103edc316da85229066"),
				lib("libggml-cpu-armv8.0_1.so", 955728, "9692bb20faa84c178b3dd1941744ca564c45f5065391bc2e990084a79f13db9b"),
				lib("libggml-cpu-armv8.2_1.so", 985608, "bc47eed34b7fbb87f59b6308db7c1bc3f675c33b6c3237534a56c152f69b1cff"),
				lib("libggml-cpu-armv8.2_2.so", 989704, "e60172cf0f68a8975f06a32ddfb1c634b3ddd693c9d3e474776810433bc6907c"),
				lib("libggml-cpu-armv8.2_3.so", 985480, "67885633f30a2c79453b947088e024fe4229c35b8f3d432b99ee87ce7cf5a8b9"),
				lib("libggml-cpu-armv8.6_1.so", 1006192, "d133ad958c9830fa795ffe932e42248ad836a2020abe6f1e96dedd639c4ec72c"),
				lib("libggml-cpu-armv8.6_2.so", 1006192, "bf487d77cd087f9fc07e8fd3b346a9e635196df65cbbee850bd238d9c97133e9"),
				lib("libggml-cpu-armv9.2_1.so", 1006192, "6046cf5dca135c7c0d0d78c02ac7275ad9b921fe036e89109a35c2213a435bd0"),
				lib("libggml-cpu-armv9.2_2.so", 1006192, "e29c3e4f45682cf3a596626f91b76af0814d8ff9f8da9ac677724a8b59fb2b4f"),
				lib("libggml.v0.4.0.so", 50880, "2f4766ceb830566f5ec86b22fbfe6dc7f209102875ef5b5dace9be8a96fa8b2b"),
				lib("libllama.v0.4.0.so", 4182712, "a671d2a1746dc07ec69fe72a64daaafd2e2fb7ee3421b0c346ed76a8c7abc3c8"),
			},
			Aliases: []Alias{{"libggml.so", "libggml.v0.4.0.so"}, {"libllama.so", "libllama.v0.4.0.so"}},
		},
		{
			Platform: "mac-arm64-metal", OS: "darwin", Arch: "arm64", Engine: engineRelease,
			Package: "@node-llama-cpp/mac-arm64-metal", Version: "3.21.1", Size: 4858447,
			Integrity: "sha512-6MIDAZV7DXD9R1+jEXWJkFuolni3GATGE6mmuyFYc6ZmtOh9djAy15df0T0AXK3sCmVKL+fQcOAWZezxx4MvQQ==",
			Libraries: []Library{
				lib("libggml-base.dylib", 733216, "d0b909f22bfeaf3dbb5f7a992d9e48710b897dd5db95ef82e8317c9c2474e28c"),
				lib("libggml-blas.so", 58832, "c715abcddaad946d4e0aa5d84b94b9f83e6817f5471f2d10e171de2e9e563bba"),
				lib("libggml-cpu-apple_m1.so", 985320, "3025e75476e77db5ee1fa2e2b78a5adc8e2e089be57174ab6ce8a381cb648a4b"),
				lib("libggml-cpu-apple_m2_m3.so", 1001832, "75c3a7f06a0374ceddefca9f9067878e432fc9e57dc5d70110679c7876488613"),
				lib("libggml-cpu-apple_m4.so", 1001832, "c78ac88acf14dfdb0a94b35533990f8b99fa810e128461555fee583119ad4be9"),
				lib("libggml-metal.so", 2128640, "1081bd1cf05edc21513c07ba9b18c2ba345af8a14ae678fc13e2fa462d744bb2"),
				lib("libggml.metal.v0.4.0.dylib", 77048, "a70f1a5d40685bb81aaa25d9a794b05e06d63e2d64986e3d409e0365b61cf120"),
				lib("libllama.metal.v0.4.0.dylib", 3086056, "0f59592ce092fea073d9de2f0589ea9527a0e1fb1856af6ddd2970b32eeb28d1"),
			},
			Aliases: []Alias{{"libggml.dylib", "libggml.metal.v0.4.0.dylib"}, {"libllama.dylib", "libllama.metal.v0.4.0.dylib"}},
		},
		{
			Platform: "mac-x64", OS: "darwin", Arch: "amd64", Engine: engineRelease,
			Package: "@node-llama-cpp/mac-x64", Version: "3.21.1", Size: 10809280,
			Integrity: "sha512-Q4nyNmbcNiKygBZQZjX+qLk2w3YzoiFpLWsxNURQN7xjyUi2p2rWxjRa7Otg0FrjGf/ri4aQ+X3Uj5Y0zD06eg==",
			Libraries: []Library{
				lib("libggml-base.dylib", 730424, "4127667f0d4fd3528f4c92c71f16d9a4390c0a24314bf40246e6146685a5606c"),
				lib("libggml-blas.so", 33736, "c5f883b4ba55b262a86d6b04e9f917942d1dbd4ca2ce59b28c821dd4c43d63c3"),
				lib("libggml-cpu-alderlake.so", 1364064, "b7ab1e7b64628e8d24b533a95e34975a13d5a68525bc2a7293e6c2d7553b60db"),
				lib("libggml-cpu-cannonlake.so", 1622152, "64e7a20c5209980d7814a48893e03e0a9504b432c76cdaa65691f4eb656c4ac8"),
				lib("libggml-cpu-cascadelake.so", 1605768, "b3d687f55bc6d8e25ba71c38ac2f0f9ed06bb87263ad38dcf84a20c64c01b66f"),
				lib("libggml-cpu-cooperlake.so", 1605904, "0078e72aed24ec0a4f3e29e978ca3b4322d7c453b6e963c229118a8b9b4773ee"),
				lib("libggml-cpu-haswell.so", 1372256, "a29cd412ccae3487e6e6af841478d53aafa78dfa7e8f24d466f7822c3a0967f1"),
				lib("libggml-cpu-icelake.so", 1609872, "44d5d66d3f8558b8a2ed0e381e68203ade16cf723ef5a1823f551782a756ba4b"),
				lib("libggml-cpu-ivybridge.so", 1228208, "445110a39cad93eac8ef8205f06412e97aaa179b0ffc49308433b6f930719179"),
				lib("libggml-cpu-piledriver.so", 1232304, "bf60809c4ec377d4cd511858d48b5d893920ce6145812d7805f181646622c115"),
				lib("libggml-cpu-sandybridge.so", 1206952, "891e17d67407df5845ef4fef02020c01a5544472567d0db552850a7634258265"),
				lib("libggml-cpu-sapphirerapids.so", 1842712, "7d8a91c03c62156a6f68f52662fe32422a0ce813b6725226f0993352993037e2"),
				lib("libggml-cpu-skylakex.so", 1613968, "fb08b075180601393d0954dc36543c729b6f0b3a2fc0ad3f4aa302b3741a985f"),
				lib("libggml-cpu-sse42.so", 1016304, "f42b7cfeacac46c96586dfc9235034fa77c8d0ea88989ac569e504562a6f903e"),
				lib("libggml-cpu-x64.so", 1024496, "5f104ce4d525983061faa847ab0614772c9cdb3c93b4e9e879a0546373b13769"),
				lib("libggml-cpu-zen4.so", 1614096, "2bab549022551776ced3ab7b5bec056f505fceb362b6f6f0724c782268fb5ed0"),
				lib("libggml.v0.4.0.dylib", 43664, "3d3026af1f61765623c6ea0d112a89b8b3de98977f6e3500694e71304a48cb10"),
				lib("libllama.v0.4.0.dylib", 3358400, "d691da8f0e5e69e7f0397c5526fbc11de8e96e3a330213e39175a7447c86be51"),
			},
			Aliases: []Alias{{"libggml.dylib", "libggml.v0.4.0.dylib"}, {"libllama.dylib", "libllama.v0.4.0.dylib"}},
		},
		{
			Platform: "win-x64", OS: "windows", Arch: "amd64", Engine: engineRelease,
			Package: "@node-llama-cpp/win-x64", Version: "3.21.1", Size: 9787045,
			Integrity: "sha512-JcIpCnra7bAd7JNWA8ehdn2DIRaTMuj+fBC8bw+5rKSNzszWFbuj2XA05c5QHovonDMBLN1ePXE/hcfZtzXoUQ==",
			Libraries: []Library{
				lib("ggml-base.dll", 1281536, "86c3ef964c4db4ece53f016988ee4bd4ec0ca1c220e26a481d51c83b61f1852e"),
				lib("ggml-cpu-alderlake.dll", 1840640, "db34eb27b40251283ead373618b5083a94a82c1b8c9b07e5979b522e6f3135de"),
				lib("ggml-cpu-cannonlake.dll", 2133504, "e637b9378cc5cd7bf861feb8b78c66623b17b4c3293ef9f653c8625c66d9a2a4"),
				lib("ggml-cpu-cascadelake.dll", 2132480, "bf44a97dcf80975a787e349a9daa480fd779d35fc6944c1e47b1da2c864d81b9"),
				lib("ggml-cpu-cooperlake.dll", 2131968, "870d3cfdbacabb63f138ad8069cd1da01a39e71c6351e6a35df2a2a2a4feba22"),
				lib("ggml-cpu-haswell.dll", 1841152, "abfbaceb9e568b3919c3b3e83482e217bf9a53462514bc9dd132403dbc8d4cc3"),
				lib("ggml-cpu-icelake.dll", 2132480, "a37657d9482b1028b620c95c11c178dbf23649db66c749c5e2296a9030aff6be"),
				lib("ggml-cpu-ivybridge.dll", 1598976, "809b4d0a79b5e892ea36c13d9d270e596de1397ddf42fb6da72c0a5c998eaaa4"),
				lib("ggml-cpu-piledriver.dll", 1597952, "bda2d06d3ebd8d46a375adad6aaa696efc1464e8e32615341aacf194a292bf20"),
				lib("ggml-cpu-sandybridge.dll", 1582080, "e9852ffa91080a2ca4280049204c01f48b6ab919d6d686c68669e21242ba975c"),
				lib("ggml-cpu-sapphirerapids.dll", 2873344, "a01dd87fdb4c0a8e722bfaec82bed4e5dc13a0cc98c3f8a555852ba038ebd8b0"),
				lib("ggml-cpu-skylakex.dll", 2133504, "9773fe15b65a471205e892b2ffff9366fe30fb2fc5c20aad0bff53cd2905a272"),
				lib("ggml-cpu-sse42.dll", 1268736, "0c0d03f9c0294b3665fffe12eea822d967d1b11b41d5b4651c3a06daaf3ea420"),
				lib("ggml-cpu-x64.dll", 1242112, "7c568f8859b0965e066ac733adf79a0a008a649ce92076908e2e1c6659cb8dac"),
				lib("ggml-cpu-zen4.dll", 2131968, "9626c63730b207ef7b27448e0d8bbe377983ff2225197309ee2e37d514a90c73"),
				lib("ggml.v0.4.0.dll", 171008, "76a70e6e68c6a32b3b7214be44dede61e7fda42734a66d3a6dbd8fd3598fdfcd"),
				lib("llama.v0.4.0.dll", 7694336, "2e74c9c2901306e48085e225d169e887d68cef62b5ef8a63b9829c548cac0a10"),
			},
			Aliases: []Alias{{"ggml.dll", "ggml.v0.4.0.dll"}, {"llama.dll", "llama.v0.4.0.dll"}},
		},
	}
}

func lib(name string, size int64, sha256 string) Library {
	d, err := digest.ParseSHA256(sha256)
	if err != nil {
		panic("models: " + name + ": " + err.Error())
	}
	return Library{Name: name, Size: size, SHA256: d}
}
