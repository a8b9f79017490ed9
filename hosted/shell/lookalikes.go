package shell

import (
	"strings"
	"unicode/utf8"
)

// The look-alikes, each before the ASCII character that it is taken for. Signs are punctuation that normalising doesn't
// give away; letters are of other alphabets, and of Latin beyond ASCII.
const (
	signs    = `‘'’'‚,‛'′'‵` + "`" + `ʼ'ʹ'ˈ'ˋ` + "`" + `ˊ'´'“"”"„"‟"″"‹<›>«<»>‐-‒-–-—-―-−-⁃-˗-➖-─-━-⁄/∕/╱/⟋/⧸/⧵\∖\╲\⟍\∣|ǀ|│|┃|⏐|❘|¦|׀|∗*⁎*٭*✱*∼~˜~⁓~〜~ˆ^⌃^։:׃:∶:ː:꞉:︰:؛;⁏;܁.。.·.،,ǃ!¡!꞊=═=₌=⩵=᚛>❯>❮<⟩>⟨<❲(❳)❨(❩)❴{❵}♯#⋕#٪%`
	cyrillic = "аaеeоoрpсcуyхxѕsіiјjԁdԛqԝwһhӏlѵvԌGгrАAВBЕEКKМMНHОOРPСCТTУYХXЅSІIЈJЗ3ҮYԚQԜWҺHӀl"
	greek    = "αaοoνvρpιiκkυuχxγyηnωwσoτtΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXϲcϳj"
	others   = "օoոnսuհhցgզqյjԲRՏSՍUՕOᎪAᏴBᏟCᎠDᎬEᏀGᎻHᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZⲟoⲣpⲥcⲁaⲓiסoоoσoටoഠo၀oഠo"
	latin    = "ıiɩiɑaɡgɪIʏyᴀaᴄcᴅdᴇeᴊjᴋkᴍmᴏoᴘpᴛtᴜuᴠvᴡwᴢzʀrꜱsɴnʟlʜhɢgʙbꜰfƿpƅbȷjɾrꞵbƖlꓲIꓮA"
)

// signLooks gives the ASCII sign that a character is taken for.
func signLooks(r rune) (string, bool) { return looks(r, signs) }

// letterLooks gives the ASCII letter that a letter is taken for.
func letterLooks(r rune) (string, bool) { return looks(r, cyrillic, greek, others, latin) }

func looks(r rune, tables ...string) (string, bool) {
	if r < utf8.RuneSelf {
		return "", false
	}
	for _, table := range tables {
		if at := strings.IndexRune(table, r); at >= 0 {
			at += utf8.RuneLen(r)
			return table[at : at+1], true
		}
	}
	return "", false
}
